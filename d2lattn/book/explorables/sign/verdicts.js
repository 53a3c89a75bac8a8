// What a picture of attention says of one word, and what became of it: plain functions and words.
import { listed } from "../kit/words.js";

/**
 * A picture and what the translator did that wrote the sentence. weights: a row for each French
 * word, what is drawn. gold: the places a person would link the word to. exchanged, hidden: for
 * each English place the word written, and its probability, when that state alone comes from the
 * other sentence, and when attention cannot see it.
 * @typedef {[word: string, chance: number]} Written
 * @typedef {{
 *   source: string[], target: string[], other: string[], asked: number, weights: number[][],
 *   gold: number[], turned: string, exchanged: Written[], hidden: Written[], made: string,
 * }} Picture
 */

/** Where the picture points for the word in question. @param {Picture} picture */
export function pointed({ weights, asked }) {
  const row = weights[asked];
  return row.indexOf(Math.max(...row));
}

/** The three verdicts. @param {Picture} picture */
export function judged(picture) {
  const at = pointed(picture);
  return {
    plausible: picture.gold.includes(at),
    used: picture.exchanged[at][0] === picture.turned,
    needed: picture.hidden[at][0] !== picture.target[picture.asked],
  };
}

/** The places whose state turns the word. @param {Picture} picture */
export const turning = ({ exchanged, turned }) =>
  exchanged.flatMap(([word], place) => (word === turned ? [place] : []));

/**
 * Why each verdict is what it is, in a sentence; `many` names English words, which may stand twice.
 * @param {Picture} picture
 * @param {(chance: number) => string} digits
 */
export function reasons(picture, digits) {
  const { source, target, asked, gold, exchanged, hidden } = picture;
  const at = pointed(picture);
  const named = (/** @type {number[]} */ all) => listed(all.map((i) => `“${source[i]}”`));
  const [word, one] = [`“${target[asked]}”`, named([at])];
  const { plausible, used, needed } = judged(picture);
  const others = turning(picture).filter((place) => place !== at);
  const states = `state${others.length > 1 ? "s" : ""} at ${named(others)}`;
  const [swapped, without] = [exchanged[at], hidden[at]];
  return {
    plausible: plausible
      ? `A person would also link ${word} to ${one}.`
      : `A person would link ${word} to ${named(gold)}.`,
    used: used
      ? `If the state at ${one} is replaced, ${word} becomes “${swapped[0]}” (${digits(swapped[1])}).`
      : `If the state at ${one} is replaced, ${word} does not change (${digits(swapped[1])}).` +
        (others.length ? ` It changes with the ${states}.` : ""),
    needed: needed
      ? `If that state is hidden, the model writes “${without[0]}” (${digits(without[1])}).`
      : `If that state is hidden, the model still writes ${word} (${digits(without[1])}).`,
  };
}
