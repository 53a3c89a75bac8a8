// A small Transformer without a source, run forward: what d2lattn.TransformerDecoder computes.
// Positions lie behind one another in one array: thousands of products, several times a frame.
import { softmax } from "../kit/index.js";

/**
 * heads: of each layer. pre: normed before each sublayer and once at the end, not after each.
 * parts: the tensors of PyTorch's state_dict by name, each its sizes and its float32 in base64.
 * @typedef {{ heads: number, pre: boolean, parts: Record<string, [number[], string]> }} Packed
 * @typedef {{ sizes: number[], data: Float64Array }} Tensor
 * @typedef {{
 *   heads: number, pre: boolean, layers: number, width: number, vocabulary: number,
 *   part: (name: string) => Tensor | undefined,
 * }} Network
 * @typedef {{ mask?: boolean, positions?: boolean }} Switches
 * @typedef {{ k: Float64Array, v: Float64Array }} KeysValues
 * @typedef {ReturnType<typeof forward>} Pass
 */

/** @param {Packed} packed @returns {Network} */
export function unpack({ heads, pre, parts }) {
  /** @type {Record<string, Tensor>} */
  const found = {};
  for (const [name, [sizes, text]] of Object.entries(parts)) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    found[name] = { sizes, data: Float64Array.from(new Float32Array(bytes.buffer)) };
  }
  const [vocabulary, width] = found["embedding.weight"].sizes;
  const layers = Object.keys(found).filter((name) => name.endsWith("W_q.weight")).length;
  return { heads, pre, layers, width, vocabulary, part: (name) => found[name] };
}

/**
 * W x + b at every position: (T, n) -> (T, m).
 * @param {Network} net @param {string} name @param {Float64Array} x
 */
function linear(net, name, x) {
  const { sizes, data: W } = /** @type {Tensor} */ (net.part(`${name}.weight`));
  const b = net.part(`${name}.bias`)?.data;
  const [m, n] = sizes;
  const y = new Float64Array((x.length / n) * m);
  for (let k = 0, t = 0; k < y.length; t += n)
    for (let i = 0, w = 0; i < m; i++, k++) {
      let total = b ? b[i] : 0;
      for (let j = t; j < t + n; j++, w++) total += W[w] * x[j];
      y[k] = total;
    }
  return y;
}

/**
 * Layer normalisation of every position. @param {Network} net @param {string} name @param {Float64Array} x
 */
function norm(net, name, x) {
  const D = net.width;
  const [scale, shift] = ["weight", "bias"].map((one) => net.part(`${name}.${one}`)?.data);
  const y = new Float64Array(x.length);
  for (let t = 0; t < x.length; t += D) {
    let [mean, square] = [0, 0];
    for (let i = 0; i < D; i++) mean += x[t + i] / D;
    for (let i = 0; i < D; i++) square += (x[t + i] - mean) ** 2 / D;
    for (let i = 0; i < D; i++)
      y[t + i] =
        ((x[t + i] - mean) / Math.sqrt(square + 1e-5)) * (scale?.[i] ?? 1) + (shift?.[i] ?? 0);
  }
  return y;
}

/** @param {Float64Array} a @param {Float64Array} b */
function joined(a, b) {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/**
 * Each head's weights, (H, T, P + T), what W_o makes of what they found, and all keys and values.
 * @param {Network} net @param {string} name @param {Float64Array} x @param {boolean} mask
 * @param {KeysValues} past those of P places before
 */
function attend(net, name, x, mask, past) {
  const [D, size, before] = [net.width, net.width / net.heads, past.k.length / net.width];
  const [q, ...now] = ["W_q", "W_k", "W_v"].map((one) => linear(net, `${name}.${one}`, x));
  const [k, v] = [joined(past.k, now[0]), joined(past.v, now[1])];
  const all = k.length / D;
  const found = new Float64Array(x.length);
  const weights = Array.from({ length: net.heads }, (_, head) =>
    Array.from({ length: all - before }, (_, t) => {
      const [from, seen] = [head * size, mask ? before + t + 1 : all];
      /** @type {number[]} */
      const scores = [];
      for (let s = 0; s < seen; s++) {
        let total = 0;
        for (let i = from; i < from + size; i++) total += q[t * D + i] * k[s * D + i];
        scores.push(total / Math.sqrt(size));
      }
      const row = softmax(scores);
      for (let s = 0; s < seen; s++)
        for (let i = from; i < from + size; i++) found[t * D + i] += row[s] * v[s * D + i];
      while (row.length < all) row.push(0);
      return row;
    }),
  );
  return { weights, y: linear(net, `${name}.W_o`, found), past: { k, v } };
}

/** The length of every position's vector. @param {Float64Array} x @param {number} D */
function lengths(x, D) {
  const squares = Array(x.length / D).fill(0);
  for (let k = 0; k < x.length; k++) squares[Math.floor(k / D)] += x[k] * x[k];
  return squares.map(Math.sqrt);
}

/** p_{i, 2j} = sin(i / 10000^(2j/d)), then the cosine. @param {number} i @param {number} d @param {number} D */
const wave = (i, d, D) => {
  const angle = i / 10000 ** ((d - (d % 2)) / D);
  return d % 2 ? Math.cos(angle) : Math.sin(angle);
};

/**
 * One pass over T tokens. What it gives:
 *   lens      the scores of the next token at every place, (T, V) each: as the output would read
 *             the embedding, and each layer; the last are the model's own
 *   weights   (layers, H, T, P + T)
 *   steps     what each part adds at every place, and how long the vector there is afterwards
 *   past      keys and values of each layer, from which a later pass may go on
 * @param {Network} net
 * @param {number[]} tokens
 * @param {Switches} switches
 * @param {KeysValues[]} past of P places before, if there are any
 */
export function forward(net, tokens, { mask = true, positions = true } = {}, past = []) {
  const { width: D, vocabulary: V } = net;
  const before = past.length ? past[0].k.length / D : 0;
  const E = /** @type {Tensor} */ (net.part("embedding.weight")).data;
  /** @type {{ name: string, adds: number[], holds: number[] }[]} */
  const steps = [];
  let x = new Float64Array(tokens.length * D);
  const [embedded, waves] = [x.slice(), x.slice()];
  for (let k = 0; k < x.length; k++) {
    const [t, d] = [Math.floor(k / D), k % D];
    embedded[k] = E[tokens[t] * D + d] * Math.sqrt(D);
    if (positions) waves[k] = wave(before + t, d, D);
  }
  const add = (/** @type {string} */ name, /** @type {Float64Array} */ y, normed = "") => {
    x = x.slice();
    for (let k = 0; k < x.length; k++) x[k] += y[k];
    if (normed && !net.pre) x = norm(net, normed, x);
    steps.push({ name, adds: lengths(y, D), holds: lengths(x, D) });
  };
  const read = () => {
    const scores = linear(net, "dense", net.pre ? norm(net, "ln", x) : x);
    return tokens.map((_, t) => [...scores.subarray(t * V, (t + 1) * V)]);
  };
  const enter = (/** @type {string} */ name) => (net.pre ? norm(net, name, x) : x);

  add("token", embedded);
  add("place", waves);
  const lens = [read()];
  /** @type {number[][][][]} */
  const weights = [];
  /** @type {KeysValues[]} */
  const kept = [];
  for (let layer = 0; layer < net.layers; layer++) {
    const block = `blks.${layer}`;
    const [first, last] = [1, 3].map((one) => `${block}.addnorm${one}.ln`);
    const none = { k: new Float64Array(0), v: new Float64Array(0) };
    const name = `${block}.attention1`;
    const found = attend(net, name, enter(first), mask, past[layer] ?? none);
    weights.push(found.weights);
    kept.push(found.past);
    add(`attention ${layer + 1}`, found.y, first);
    const inner = linear(net, `${block}.ffn.dense1`, enter(last));
    for (let k = 0; k < inner.length; k++) inner[k] = Math.max(0, inner[k]);
    add(`network ${layer + 1}`, linear(net, `${block}.ffn.dense2`, inner), last);
    lens.push(read());
  }
  return { lens, weights, steps, past: kept };
}

/** The place of the largest. @param {number[]} row */
export const largest = (row) => row.indexOf(Math.max(...row));

/**
 * Two passes as one, where the second went on from the first.
 * @param {Pass} a @param {Pass} b
 * @returns {Pass}
 */
const together = (a, b) => ({
  lens: a.lens.map((rows, i) => [...rows, ...b.lens[i]]),
  weights: a.weights.map((heads, i) =>
    heads.map((rows, k) => [...rows.map((row) => [...row, 0]), ...b.weights[i][k]]),
  ),
  steps: a.steps.map(({ name, adds, holds }, i) => {
    const next = b.steps[i];
    return { name, adds: [...adds, ...next.adds], holds: [...holds, ...next.holds] };
  }),
  past: b.past,
});

/**
 * What the model makes of a word, its letters as numbers; ">" and "." are the last two tokens.
 *   written    what it writes, token by token, n + 1 of them, from what stands there so far
 *   truth      what it should write
 *   read       what it reads in the pass that is shown: the word, ">", and what it wrote; or, if
 *              forced, the truth, as in training
 *   says       what it would write next after ">" and after each later token of that pass
 *   right      how many of the tokens are: of those said if forced, otherwise of those written
 *   shares     (layers, H): weight on the letter that should be written next, on average
 * @param {Network} net
 * @param {number[]} word
 * @param {Switches & { forced?: boolean }} switches
 */
export function look(net, word, { forced = false, ...switches } = {}) {
  const n = word.length;
  const start = [...word, net.vocabulary - 2];
  let pass = forward(net, start, switches);
  const written = [largest(pass.lens[net.layers][n])];
  while (written.length <= n) {
    // Where no place sees a later one, what was computed stays as it is.
    pass =
      switches.mask === false
        ? forward(net, [...start, ...written], switches)
        : together(pass, forward(net, written.slice(-1), switches, pass.past));
    written.push(largest(pass.lens[net.layers][n + written.length]));
  }
  const truth = [...[...word].reverse(), net.vocabulary - 1];
  const read = [...start, ...(forced ? truth : written).slice(0, n)];
  if (forced) pass = forward(net, read, switches);
  const says = pass.lens[net.layers].slice(n).map(largest);
  const right = (forced ? says : written).filter((token, i) => token === truth[i]).length;
  const shares = pass.weights.map((heads) =>
    heads.map((rows) => word.reduce((total, _, i) => total + rows[n + i][n - 1 - i] / n, 0)),
  );
  return { ...pass, written, truth, read, says, right, shares };
}

/**
 * By how much the scores at a place change, at most, when all tokens behind it are taken away.
 * @param {Network} net
 * @param {number[]} read
 * @param {number[][]} scores of the whole pass
 * @param {number} place
 * @param {Switches} switches
 */
export function leak(net, read, scores, place, switches) {
  const { lens } = forward(net, read.slice(0, place + 1), switches);
  const alone = lens[net.layers][place];
  return Math.max(...alone.map((score, v) => Math.abs(score - scores[place][v])));
}
