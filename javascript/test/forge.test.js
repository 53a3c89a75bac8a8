// Numbers to check by hand; tests/book/explorables/test_forge.py compares others with d2lattn.analysis.metrics.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as forge from "../../d2lattn/book/explorables/forge/evidence.js";
import { reasons } from "../../d2lattn/book/explorables/forge/telling.js";

/** @type {import("../../d2lattn/book/explorables/forge/evidence.js").Sentence} */
const one = {
  source: ["the", "red", "cat"],
  target: ["le", "chat", "rouge"],
  sure: [
    [0, 0],
    [2, 1],
    [1, 2],
  ],
  possible: [
    [0, 0],
    [2, 1],
    [1, 2],
    [2, 0],
  ],
  weights: [
    [
      [0.1, 0.1, 0.8],
      [0, 0.25, 0.75],
      [0, 0.5, 0.5],
    ],
  ],
  changes: [[[2], [1, 2], []]],
  translations: ["le chat rouge"],
};
const own = { drawn: 0, shift: 0, threshold: 0, darkest: 1 };

test("links, gold, baselines and hidden states of a sentence are counted", () => {
  // Links the-… cat: 2, 2 and, of two equal weights, 1. Diagonal: 0, 1, 2, of which 0 is right.
  const counted = forge.count(one, own);
  assert.deepEqual(counted.counts, [3, 2, 3, 2, 0.5]);
  assert.deepEqual([counted.words, counted.sure, counted.diagonal], [3, 3, [1, 1]]);
  assert.deepEqual(counted.uniform, [1, 4 / 3]);
  const { error, diagonal, changed, other } = forge.rates(counted);
  assert.ok(Math.abs(error - 1 / 6) < 1e-12 && Math.abs(diagonal - 4 / 6) < 1e-12);
  assert.ok(Math.abs(changed - 2 / 3) < 1e-12 && Math.abs(other - 1 / 6) < 1e-12);
});

test("a row that is moved keeps its weights and takes another label; one falls out", () => {
  assert.deepEqual(forge.rowsOf(one, -1), [0, 1]);
  assert.deepEqual(forge.rowsOf(one, 1), [1, 2]);
  assert.deepEqual(forge.picture(one, { ...own, shift: -1 }, [0, 2]), [
    one.weights[0][1],
    [0, 0, 0],
  ]);
  // le looks where chat looked, which changes le; chat where rouge looked: red, which changes it.
  assert.deepEqual(forge.count(one, { ...own, shift: -1 }).counts, [2, 0, 1, 2, 0.5]);
});

test("white cells are no links, and a scale changes no count", () => {
  assert.deepEqual(forge.picture(one, { ...own, threshold: 0.75 }, [1])[0], [0, 0, 0.75]);
  assert.deepEqual(forge.picture(one, { ...own, darkest: 0.5 }, [1])[0], [0, 0.5, 1]);
  const near = { ...one, weights: [[[0.77, 0.23, 0], ...one.weights[0].slice(1)]] };
  assert.deepEqual(forge.picture(near, { ...own, threshold: 0.8 }, [0])[0], [0, 0, 0]);
  assert.deepEqual(forge.count(one, { ...own, threshold: 0.75 }).counts, [2, 1, 2, 2, 0.5]);
  assert.deepEqual(forge.count(one, { ...own, darkest: 0.1 }), forge.count(one, own));
});

test("a tally counts links from a threshold on", () => {
  const bins = Array.from({ length: 20 }, forge.none);
  bins[3] = [5, 1, 1, 1, 0.5];
  bins[10] = [2, 2, 2, 1, 0.25];
  const tally = { bins, words: 7, sure: 7, diagonal: [3, 3], uniform: [1, 1] };
  assert.deepEqual(forge.total(tally, 0).counts, [7, 3, 3, 2, 0.75]);
  assert.deepEqual(forge.total(tally, 0.2).counts, bins[10]);
  assert.deepEqual(forge.total(tally, 0.15).counts, [7, 3, 3, 2, 0.75]);
  assert.ok(Number.isNaN(forge.rates(forge.total(tally, 0.95)).changed));
});

test("a verdict follows from the rule, its bounds included", () => {
  const of = (
    /** @type {number} */ error,
    /** @type {number} */ changed,
    /** @type {number} */ other,
  ) => forge.verdict(/** @type {any} */ ({ error, changed, other })).name;
  assert.equal(of(0.1, 0.5, 0.05), "both");
  assert.equal(of(0.101, 0.5, 0.05), "needed");
  assert.equal(of(0.1, 0.5, 0.051), "plausible");
  assert.equal(of(0.1, 0.09, 0), "plausible");
  assert.equal(of(0.5, 0.2, 0.1), "neither");
  assert.equal(of(1, Number.NaN, Number.NaN), "neither");
});

test("reasons tell the numbers, without dividing by nothing", () => {
  const of = (/** @type {number} */ changed, /** @type {number} */ other) =>
    reasons(/** @type {any} */ ({ error: 0.05, diagonal: 0.2, changed, other }))[1];
  assert.match(of(0.5, 0.1), /^Needed: no\. 50\.0.% .* against 10\.0.%: 5\.0 times as many\.$/);
  assert.match(of(0.5, 0), /over 100 times/);
  assert.match(of(0, 0), /changes no word/);
  assert.match(of(Number.NaN, Number.NaN), /No state is pointed at/);
});

test("what was changed is named, and nothing where nothing was", () => {
  assert.deepEqual(forge.changesMade(own), []);
  const all = { drawn: 1, shift: 1, threshold: 0.5, darkest: 0.5 };
  assert.equal(forge.changesMade(all).length, 3);
});
