// What one step of the decoder computes, and the sentences that tell of it.
import { clip, dot, fixed, short, softmax, sum } from "../kit/index.js";

export const PICTURES = ["read", "query", "score", "normalise", "sum", "join", "step", "write"];

/**
 * What Python gives, and the number of the target word.
 * @typedef {{
 *   source: string[], target: string[], values: number[][], states: number[][],
 *   scores: number[][], embeddings: number[][], candidates: string[][], chances: number[][],
 *   widths: number[], word: number,
 * }} Board
 */

/** Isolated, so that a right-to-left word does not turn the sentence around. @param {string} word */
export const quote = (word) => `“\u2068${clip(word, 20)}\u2069”`;

/** s₅ for ("s", 5). @param {string} letter @param {number} n */
export const indexed = (letter, n) =>
  letter + [...String(n)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]).join("");

/** Weights from the scores, context from weights and values, change from the states. @param {Board} board */
export function compute({ word: i, ...board }) {
  const scores = board.scores[i];
  const weights = softmax(scores);
  const entries = board.values[0].map((_, k) => k);
  const parts = board.values.map((value, t) => value.map((entry) => weights[t] * entry));
  const [before, after] = [board.states[i], board.states[i + 1]];
  const chances = board.chances[i];
  return {
    i,
    scores,
    weights,
    parts,
    before,
    after,
    chances,
    next: board.target[i],
    last: i ? board.target[i - 1] : "<bos>",
    powers: scores.map(Math.exp),
    total: sum(scores.map(Math.exp)),
    context: entries.map((k) =>
      dot(
        weights,
        board.values.map((value) => value[k]),
      ),
    ),
    embedding: board.embeddings[i],
    change: after.map((x, k) => x - before[k]),
    candidates: board.candidates[i],
    rest: Math.max(0, 1 - sum(chances)),
  };
}

/** The places of the largest first. @param {number[]} xs */
export const ranked = (xs) => xs.map((_, i) => i).sort((a, b) => xs[b] - xs[a] || a - b);

/**
 * The products of the two largest weights, and what is left in one number; with digits enough to
 * be added up by hand.
 * @param {number[]} weights
 * @param {number[]} entries
 */
export function sumInWords(weights, entries) {
  const [order, product] = [ranked(weights), (/** @type {number} */ t) => weights[t] * entries[t]];
  const shown = order.slice(0, 2).map((t) => `${fixed(weights[t], 4)} × ${signed(entries[t])}`);
  const others = order.slice(2);
  if (others.length)
    shown.push(
      `${signed(sum(others.map(product)))} (the ${others.length === 1 ? "other" : `${others.length} others`})`,
    );
  return `${shown.join(" + ")} = ${fixed(dot(weights, entries), 3)}`;
}

/** The largest weight, and all others of 0.1 or more. @param {number[]} weights */
const looked = (weights) => ranked(weights).filter((t, place) => !place || weights[t] >= 0.1);

const signed = (/** @type {number} */ x) => (x < 0 ? `(${fixed(x, 4)})` : fixed(x, 4));

/**
 * The largest weights of the step: the only sentence while the film is shut.
 * @param {Board} board
 */
export function glance(board) {
  const { weights, next } = compute(board);
  const looks = looked(weights).map((t) => `${quote(board.source[t])} ${fixed(weights[t])}`);
  return `Before the decoder writes ${quote(next)}, the largest weights are ${looks.join(", ")}.`;
}

/**
 * A sentence or three about a picture of a step, with its words and numbers.
 * @param {Board} board
 * @param {number} picture from 1
 */
export function tell(board, picture) {
  const now = compute(board);
  const { i, scores, weights, last, next } = now;
  const [width, wordWidth, vocabulary] = board.widths;
  const count = board.source.length;
  const [asking, coming, context] = [indexed("s", i), indexed("s", i + 1), indexed("c", i + 1)];
  const [first, second] = ranked(scores);
  const at = (/** @type {number} */ t) => quote(board.source[t]);
  const best = ranked(now.chances)[0];
  const moved = ranked(now.change.map(Math.abs))[0];
  const looks = looked(weights)
    .slice(0, 3)
    .map((t, place) => `${at(t)} ${place ? "" : "gets "}${fixed(weights[t], 3)}`)
    .join(", ");
  switch (PICTURES[picture - 1]) {
    case "read":
      return (
        `The encoder has read the ${count} source tokens and computed a state of ${width} numbers for each. ` +
        (i
          ? `The decoder has just written ${quote(last)}; `
          : "The decoder has written nothing yet; ") +
        `its next word will be ${quote(next)}.`
      );
    case "query":
      return i
        ? `The query is ${asking}, the state that wrote ${quote(last)}. It cannot be ${coming}, which will write ${quote(next)}, because ${coming} is computed from the context.`
        : `The query is ${asking}, the state before the first word.${now.before.every((x) => x === 0) ? " All its entries are 0, so it does not depend on the sentence." : ""}`;
    case "score":
      return (
        `Each source state h gets a score, wᵥ·tanh(W_q ${asking} + W_k h). ${at(first)} gets the highest, ${fixed(scores[first])}` +
        (count > 1 ? `, ${at(second)} the next, ${fixed(scores[second])}.` : ".")
      );
    case "normalise":
      return `Softmax: e to the power of each score, divided by the sum of these powers, ${short(now.total, 2)}. ${looks}. The weights sum to 1. They belong to ${quote(next)}, which is not written yet.`;
    case "sum":
      return `Each source state times its weight, added up, is the context ${context}. Its first entry: ${sumInWords(
        weights,
        board.values.map((value) => value[0]),
      )}.`;
    case "join":
      return `The context (${width} numbers) and the embedding of ${quote(last)}, the last word (${wordWidth} numbers), are concatenated: the input of the GRU has ${width + wordWidth} numbers.`;
    case "step":
      return `From these ${width + wordWidth} numbers and from ${asking}, the GRU computes ${coming}. Of the entries shown, number ${moved + 1} changes most: from ${fixed(now.before[moved])} to ${fixed(now.after[moved])}.`;
    default: {
      const sure = fixed(now.chances[best], 3);
      const given = now.chances[now.candidates.indexOf(next)];
      const found =
        now.candidates[best] === next
          ? `${quote(next)} is the likeliest, ${sure}, and is written`
          : `${quote(now.candidates[best])} is the likeliest, ${sure}; ${quote(next)}, the word of this sentence, has ${given === undefined ? "almost 0" : fixed(given, 3)}`;
      const then =
        i + 1 < board.target.length
          ? ` Then ${coming} is the query for ${quote(board.target[i + 1])}.`
          : " The sentence ends.";
      return `From ${coming}, each of the ${vocabulary} target words gets a probability: ${found}.${then}`;
    }
  }
}
