// What a picture of attention is worth, in plain functions: the tests compare them with PyTorch's.
import { sum } from "../kit/arithmetic.js";

/**
 * A sentence; its translators are numbered. changes[translator][t] holds the places of the states
 * that change word t when they are hidden.
 * @typedef {[number, number]} Link a source place and a target place
 * @typedef {{
 *   source: string[], target: string[], sure: Link[], possible: Link[], weights: number[][][],
 *   changes: number[][][], translations: string[],
 * }} Sentence
 *
 * What has been done: whose weights are drawn, how far rows were moved, up to which weight cells
 * are bare, and from which weight on they have full ink.
 * @typedef {{
 *   drawn: number, shift: number, threshold: number, darkest: number,
 * }} Setting
 *
 * Of the links of some words: how many, how many of them are sure and possible, how often hiding
 * the state pointed at changes the word, and how often another one (its mean over all others).
 * @typedef {[links: number, sure: number, possible: number, changed: number, other: number]} Counts
 *
 * sure: gold's sure links. diagonal, uniform: how many of their links are sure, and possible.
 * @typedef {{ words: number, sure: number, diagonal: number[], uniform: number[] }} Gold
 * @typedef {Gold & { counts: Counts }} Counted
 * @typedef {Gold & { bins: Counts[] }} Tally bins: by the weight of the link, in twentieths
 */

export const STEPS = 20;
export const BOUNDS = { error: 0.1, changed: 0.1, times: 10 };

/** The place of the largest weight; of equal ones the first. @param {number[]} row */
export const most = (row) => row.indexOf(Math.max(...row));

const add = (/** @type {number[]} */ a, /** @type {number[]} */ b) => a.map((x, i) => x + b[i]);
const steps = (/** @type {number} */ weight) => Math.floor(weight * STEPS + 1e-9);
export const none = () => /** @type {Counts} */ ([0, 0, 0, 0, 0]);

/** The target places that have a row once rows are moved. @param {Sentence} one @param {number} shift */
export const rowsOf = (one, shift) =>
  one.target.map((_, t) => t).filter((t) => t - shift >= 0 && t - shift < one.target.length);

/**
 * What is drawn, from 0 to 1, in the rows of these target places; 0 where no row carries the label.
 * @param {Sentence} one
 * @param {Setting} setting
 * @param {number[]} places
 */
export const picture = (one, { drawn, shift, threshold, darkest }, places) =>
  places.map((t) =>
    (one.weights[drawn][t - shift] ?? one.source.map(() => 0)).map((w) =>
      steps(w) < steps(threshold) ? 0 : Math.min(1, w / darkest),
    ),
  );

/**
 * Counts of one sentence. A link goes from each word to the largest weight of its row, where that
 * is not white.
 * @param {Sentence} one
 * @param {Setting} setting
 * @returns {Counted}
 */
export function count(one, setting) {
  const { drawn, shift, threshold } = setting;
  const [n, m] = [one.source.length, one.target.length];
  const kinds = [one.sure, one.possible];
  const hits = (/** @type {number} */ i, /** @type {number} */ t) =>
    kinds.map((links) => Number(links.some(([a, b]) => a === i && b === t)));
  const ofWords = kinds.map((links) => links.length);
  let counts = none();
  let diagonal = [0, 0];
  for (let t = 0; t < m; t++) {
    diagonal = add(diagonal, hits(Math.floor(((2 * t + 1) * n) / (2 * m)), t));
    const row = one.weights[drawn][t - shift];
    if (!row || steps(Math.max(...row)) < steps(threshold)) continue;
    const changed = one.changes[drawn][t];
    const here = Number(changed.includes(most(row)));
    const other = n > 1 ? (changed.length - here) / (n - 1) : 0;
    counts = /** @type {Counts} */ (add(counts, [1, ...hits(most(row), t), here, other]));
  }
  const uniform = ofWords.map((links) => links / n);
  return { counts, words: m, sure: ofWords[0], diagonal, uniform };
}

/**
 * The same for all test sentences, whose links arrive counted by their weight.
 * @param {Tally} tally
 * @param {number} threshold
 * @returns {Counted}
 */
export const total = ({ bins, ...gold }, threshold) => ({
  ...gold,
  counts: bins
    .slice(steps(threshold))
    .reduce((sums, bin) => /** @type {Counts} */ (add(sums, bin)), none()),
});

/**
 * 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|); NaN without any link.
 * @param {number} found @param {number[]} right @param {number} sure
 */
const errorRate = (found, right, sure) => 1 - sum(right) / (found + sure);

/** Rates. @param {Counted} counted */
export function rates({ counts: [links, inSure, inPossible, changed, other], ...gold }) {
  const { words, sure, diagonal, uniform } = gold;
  return {
    links,
    words,
    error: errorRate(links, [inSure, inPossible], sure),
    precision: inPossible / links,
    diagonal: errorRate(words, diagonal, sure),
    uniform: errorRate(words, uniform, sure),
    changed: changed / links,
    other: other / links,
  };
}

/** What rates support. @param {ReturnType<typeof rates>} rates */
export function verdict({ error, changed, other }) {
  const plausible = error <= BOUNDS.error;
  const needed = changed >= BOUNDS.changed && changed >= BOUNDS.times * other;
  const name = plausible ? (needed ? "both" : "plausible") : needed ? "needed" : "neither";
  return { plausible, needed, name };
}

/**
 * In words, what makes the picture another one than the translator's own on the scale from 0 to 1.
 * @param {Setting} setting
 */
export function changesMade({ shift, threshold, darkest }) {
  const found = [];
  if (shift)
    found.push(`each row carries the label of the word ${shift < 0 ? "before" : "after"} its own`);
  if (threshold) found.push(`weights below ${threshold.toFixed(2)} are white`);
  if (darkest < 1) found.push(`the darkest colour begins at ${darkest.toFixed(2)}`);
  return found;
}
