// A softmax that goes once over its keys, tile by tile. A score a has the power 2 to a, where
// others take e to a.
import { dot, softmax } from "../kit/arithmetic.js";

/** The largest number of 16 bits (float16); what would be rounded to more is infinite there. */
export const MOST = 65504;
const held = (/** @type {number} */ x) => (Math.abs(x) < 65520 ? x : x * Number.POSITIVE_INFINITY);

/**
 * What is kept after no tile, after the first, … after the last: the largest score (with `running`),
 * the sum of the powers and that of the values they weigh. first, last: the tile's keys, last
 * excluded. shrink: by what is kept is multiplied first. powers: the new powers are 2 to
 * these. Without `running` they are taken of the scores as they are, in numbers of 16 bits.
 * @typedef {{
 *   first: number, last: number, shrink: number, powers: number[],
 *   largest: number, sum: number, weighed: number,
 * }} Kept
 * @param {{ scores: number[], values: number[], tile: number, running: boolean }} state
 * @returns {Kept[]}
 */
export function passes({ scores, values, tile, running }) {
  const nothing = { first: 0, last: 0, shrink: 1, powers: [], sum: 0, weighed: 0 };
  /** @type {Kept[]} */
  const all = [{ ...nothing, largest: running ? Number.NEGATIVE_INFINITY : 0 }];
  const fit = running ? (/** @type {number} */ x) => x : held;
  for (let first = 0; first < scores.length; first += tile) {
    const before = all[all.length - 1];
    const last = Math.min(first + tile, scores.length);
    const ours = scores.slice(first, last);
    const largest = running ? Math.max(before.largest, ...ours) : 0;
    const powers = ours.map((score) => score - largest);
    const shrink = 2 ** (before.largest - largest);
    let [sum, weighed] = [before.sum * shrink, before.weighed * shrink];
    powers.forEach((power, i) => {
      const one = fit(2 ** power);
      sum = fit(sum + one);
      weighed = fit(weighed + fit(one * values[first + i]));
    });
    all.push({ first, last, shrink, powers, largest, sum, weighed });
  }
  return all;
}

/** The same with a whole row of weights. @param {number[]} scores @param {number[]} values */
export const whole = (scores, values) =>
  dot(softmax(scores.map((score) => score * Math.LN2)), values);

/** With all its digits, in groups. @param {number} x */
export function written(x) {
  if (Number.isNaN(x)) return "not a number";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  return x.toLocaleString("en", { maximumFractionDigits: 5 }).replace("-", "−");
}

/** 2 to a whole power, as one writes it by hand. @param {number} k */
export const power = (k) => (k < 0 ? (["½", "¼", "⅛"][-k - 1] ?? `1/${2 ** -k}`) : written(2 ** k));

/**
 * How the sums came about: "1.5 × ½ + 1 + ¼ = 2", and the same with the values.
 * @param {Kept} before @param {Kept} now @param {number[]} values
 */
export function lines(before, now, values) {
  const k = Math.log2(now.shrink);
  /** @type {(kept: number, found: number, weigh: (i: number) => string) => string} */
  const line = (kept, found, weigh) => {
    const old = before.last ? [written(kept) + (k ? ` × ${power(k)}` : "")] : [];
    const fresh = now.powers.map((one, i) => power(one) + weigh(now.first + i));
    return `${[...old, ...fresh].join(" + ")} = ${written(found)}`;
  };
  return [
    line(before.sum, now.sum, () => ""),
    line(before.weighed, now.weighed, (i) => `·${written(values[i])}`),
  ];
}

/** What the step did, in words. @param {Kept} before @param {Kept} now @param {boolean} running */
export function told(before, now, running) {
  if (!now.last) return "Nothing has been read yet, and nothing is kept.";
  if (!running)
    return Number.isFinite(now.sum) && Number.isFinite(now.weighed)
      ? "Nothing is subtracted: the powers of 2 are added as they are."
      : `Too large: the largest number of 16 bits is ${written(MOST)}.`;
  const [old, fresh] = [written(before.largest), written(now.largest)];
  if (!before.last) return `The largest score so far, ${fresh}, is subtracted.`;
  if (now.shrink === 1) return `The largest score is still ${old}: both sums stay as they are.`;
  const less = now.shrink === 0.5 ? "halved" : `multiplied by ${power(Math.log2(now.shrink))}`;
  return `The largest score rose from ${old} to ${fresh}: both sums are ${less}.`;
}
