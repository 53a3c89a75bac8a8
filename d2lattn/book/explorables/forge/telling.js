// What is said of a picture and its evidence.
import { fixed } from "../kit/index.js";
import { BOUNDS, verdict } from "./evidence.js";

/** @param {number} x */
export const percent = (x, digits = 1) =>
  Number.isNaN(x) ? "none" : `${fixed(100 * x, digits)}\u00a0%`;

/** A number of words or sentences. @param {number} n */
export const many = (n) => n.toLocaleString("en");

export const SUPPORTED = {
  plausible: "plausible only",
  needed: "needed only",
  both: "both",
  neither: "neither",
};
export const RULE =
  `The rule, for all sentences together. Plausible: an error rate of at most ${fixed(BOUNDS.error)}, ` +
  "less than half of that of the diagonal. Needed: hiding the state of " +
  `the link changes at least ${percent(BOUNDS.changed, 0)} of the words, and ` +
  `${BOUNDS.times} times as many as hiding another one.`;

/** @param {{ drawn: number, shift: number }} setting */
export const key = ({ drawn, shift }) => `${drawn} ${shift}`;

/** Why a verdict is what it is. @param {ReturnType<typeof import("./evidence.js").rates>} rate */
export function reasons(rate) {
  const { plausible, needed } = verdict(rate);
  const { error, diagonal, changed, other } = rate;
  const times = Number.isNaN(changed)
    ? "no word has a link"
    : changed === 0
      ? "hiding the linked state changes no word"
      : `${percent(changed)} of the words change, against ${percent(other)}: ` +
        (changed > 100 * other
          ? "over 100 times as many"
          : `${fixed(changed / other, 1)} times as many`);
  return [
    `Plausible: ${plausible ? "yes" : "no"}. Error rate ${fixed(error, 3)}, diagonal ${fixed(diagonal, 3)}.`,
    `Needed: ${needed ? "yes" : "no"}. ${times[0].toUpperCase()}${times.slice(1)}.`,
  ];
}
