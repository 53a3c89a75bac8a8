// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
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
