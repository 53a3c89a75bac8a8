// What the losses of all subsets of heads say. In losses[s], head h is on where bit h of s is set.
import { sum } from "../kit/index.js";

/** The place of the loss with these heads on. @param {boolean[]} on */
export const place = (on) => sum(on.map((one, h) => (one ? 2 ** h : 0)));

/** @param {number[]} losses */
export const countHeads = (losses) => Math.round(Math.log2(losses.length));

/**
 * How much each head lowers the loss: with all others on, alone, and on average over all orders in
 * which heads can be switched on. The averages sum to what all heads save together.
 * @param {number[]} losses
 */
export function worth(losses) {
  const count = countHeads(losses);
  const all = losses.length - 1;
  const size = (/** @type {number} */ s) => sum([...s.toString(2)].map(Number));
  // Of the subsets without one head, how many have n heads.
  const subsets = [1];
  for (let n = 1; n < count; n++) subsets.push((subsets[n - 1] * (count - n)) / n);
  return Array.from({ length: count }, (_, h) => {
    const bit = 2 ** h;
    const before = losses.map((_, s) => s).filter((s) => !(s & bit));
    return {
      last: losses[all - bit] - losses[all],
      first: losses[0] - losses[bit],
      mean: sum(before.map((s) => (losses[s] - losses[s + bit]) / subsets[size(s)])) / count,
    };
  });
}

/**
 * What is lost with these heads off, and what is lost with each of them alone off.
 * @param {number[]} losses
 * @param {boolean[]} on
 */
export function lost(losses, on) {
  const all = losses.length - 1;
  const off = on.flatMap((one, h) => (one ? [] : [h]));
  return {
    off,
    together: losses[place(on)] - losses[all],
    each: off.map((h) => losses[all - 2 ** h] - losses[all]),
  };
}

/** Weight times length: what a key adds to the output. @param {number[][]} weights @param {number[]} lengths */
export const contributions = (weights, lengths) =>
  weights.map((row) => row.map((weight, k) => weight * lengths[k]));

/** Digits that tell such losses apart. @param {number} largest */
export const digitsFor = (largest) =>
  largest >= 10 ? 1 : largest >= 0.1 ? 3 : largest >= 0.01 ? 4 : 5;
