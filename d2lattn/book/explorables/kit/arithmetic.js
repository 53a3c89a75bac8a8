// Plain functions on numbers and arrays; the tests compare them with PyTorch.

/** @param {number[]} xs */
export const sum = (xs) => xs.reduce((total, x) => total + x, 0);

/** @param {number[]} a @param {number[]} b */
export const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);

/** @param {number} x @param {number} low @param {number} high */
export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

/** n numbers from low to high, in equal steps. @param {number} low @param {number} high @param {number} n */
export const linspace = (low, high, n) =>
  Array.from({ length: n }, (_, i) => low + ((high - low) * i) / Math.max(1, n - 1));

/** Population variance: divided by n. @param {number[]} xs */
export const variance = (xs) => {
  const mean = sum(xs) / xs.length;
  return sum(xs.map((x) => (x - mean) ** 2)) / xs.length;
};

/**
 * Weights that sum to 1; where mask[i] is false the weight is 0. Nothing to see: all weights 0.
 * @param {number[]} scores
 * @param {boolean[] | null} mask
 */
export function softmax(scores, mask = null) {
  const seen = (/** @type {number} */ i) => !mask || mask[i];
  const highest = Math.max(...scores.filter((_, i) => seen(i)));
  const powers = scores.map((score, i) => (seen(i) ? Math.exp(score - highest) : 0));
  const total = sum(powers);
  return powers.map((power) => (total ? power / total : 0));
}

/** In nats. A weight of 0 adds nothing. @param {number[]} weights */
export const entropy = (weights) => sum(weights.map((w) => (w > 0 ? -w * Math.log(w) : 0)));

/**
 * Functions of u = distance / bandwidth, each of area 1.
 * @type {Record<string, (u: number) => number>}
 */
export const kernels = {
  gaussian: (u) => Math.exp((-u * u) / 2) / Math.sqrt(2 * Math.PI),
  boxcar: (u) => (Math.abs(u) <= 1 ? 0.5 : 0),
  epanechnikov: (u) => 0.75 * Math.max(0, 1 - u * u),
  triangular: (u) => Math.max(0, 1 - Math.abs(u)),
};

/**
 * The weights of one query over the keys; all 0 when no key is in reach.
 * @param {number} query
 * @param {number[]} keys
 * @param {number} bandwidth
 * @param {string} kernel
 */
export function kernelWeights(query, keys, bandwidth, kernel) {
  if (kernel === "gaussian") {
    // As a softmax, so that no bandwidth is too small: the nearest key always has score 0.
    const squared = keys.map((key) => (query - key) ** 2);
    const nearest = Math.min(...squared);
    return softmax(squared.map((d) => -(d - nearest) / bandwidth / bandwidth / 2));
  }
  const heights = keys.map((key) => kernels[kernel]((query - key) / bandwidth));
  const total = sum(heights);
  return heights.map((height) => (total ? height / total : 0));
}

/**
 * The weighted mean of the values; NaN when no key is in reach. The key at the place `left` is left out.
 * @param {number} query
 * @param {number[]} keys
 * @param {number[]} values
 * @param {number} bandwidth
 * @param {string} kernel
 */
export function kernelPrediction(query, keys, values, bandwidth, kernel, left = -1) {
  // Without lists: a curve and an error call this hundreds of times in a frame.
  let nearest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < keys.length; i++)
    if (i !== left) nearest = Math.min(nearest, (query - keys[i]) ** 2);
  let [total, weighted] = [0, 0];
  for (let i = 0; i < keys.length; i++) {
    if (i === left) continue;
    const d = query - keys[i];
    const height =
      kernel === "gaussian"
        ? Math.exp((nearest - d * d) / bandwidth / bandwidth / 2)
        : kernels[kernel](d / bandwidth);
    total += height;
    weighted += height * values[i];
  }
  return total ? weighted / total : Number.NaN;
}

/**
 * Mean squared error when each value is predicted from all others; infinite if one cannot be.
 * @param {number[]} keys
 * @param {number[]} values
 * @param {number} bandwidth
 * @param {string} kernel
 */
export function leaveOneOutError(keys, values, bandwidth, kernel) {
  let error = 0;
  for (let i = 0; i < keys.length; i++) {
    const predicted = kernelPrediction(keys[i], keys, values, bandwidth, kernel, i);
    if (Number.isNaN(predicted)) return Number.POSITIVE_INFINITY;
    error += (predicted - values[i]) ** 2;
  }
  return error / keys.length;
}
