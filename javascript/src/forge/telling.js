// The words that both views use.
import { fixed } from "../kit/index.js";
import { BOUNDS, verdict } from "./evidence.js";

/** @param {number} x */
export const percent = (x, digits = 1) =>
  Number.isNaN(x) ? "none" : `${fixed(100 * x, digits)}\u00a0%`;

/** A number of words or sentences. @param {number} n */
export const many = (n) => n.toLocaleString("en");

/**
 * Who did what is drawn: a translator, or a part of the only one there is.
 * @param {Record<string, any>} data
 * @param {string} name
 */
export const ofWhom = (data, name) => (data.one_model ? name : `the ${name} model`);

export const ALL = "all";
export const SUPPORTED = {
  plausible: "plausible only",
  faithful: "faithful only",
  both: "both",
  neither: "neither",
};
export const RULE =
  `The rule, for all sentences together. Plausible: an error rate of at most ${fixed(BOUNDS.error)}, ` +
  "less than half of what the diagonal has over all words. Faithful: hiding the state that the " +
  `picture points at changes at least ${percent(BOUNDS.changed, 0)} of the words, and ` +
  `${BOUNDS.times} times as many as hiding another one.`;

/** @param {{ drawn: number, tested: number, shift: number, words: string }} setting */
export const key = ({ drawn, tested, shift, words }) => `${drawn} ${tested} ${shift} ${words}`;

/** Why a verdict is what it is. @param {ReturnType<typeof import("./evidence.js").rates>} rate */
export function reasons(rate) {
  const { plausible, faithful } = verdict(rate);
  const { error, diagonal, changed, other } = rate;
  const times = Number.isNaN(changed)
    ? "no state is pointed at"
    : changed === 0
      ? "hiding the state pointed at changes no word"
      : `${percent(changed)} of the words change, against ${percent(other)}: ` +
        (changed > 100 * other
          ? "over 100 times as many"
          : `${fixed(changed / other, 1)} times as many`);
  return [
    `Plausible: ${plausible ? "yes" : "no"}. Error rate ${fixed(error, 3)}, diagonal ${fixed(diagonal, 3)}.`,
    `Faithful: ${faithful ? "yes" : "no"}. ${times[0].toUpperCase()}${times.slice(1)}.`,
  ];
}
