// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as forge from "../../d2lattn/book/explorables/forge/evidence.js";
import { reasons } from "../../d2lattn/book/explorables/forge/telling.js";
import { digitsFor, lost, place } from "../../d2lattn/book/explorables/head_ablation/subsets.js";
import * as softmax from "../../d2lattn/book/explorables/running_softmax/arithmetic.js";
import { indexed, ranked, sumInWords } from "../../d2lattn/book/explorables/storyboard/steps.js";
import * as memory from "../../d2lattn/book/explorables/writers_memory/arithmetic.js";

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
  assert.match(of(Number.NaN, Number.NaN), /No word has a link/);
});

// Heads 1 and 2 do the same work, worth 6; head 3 is worth 3 on its own, and 1 beside them.
const LOSSES = [10, 4, 4, 4, 7, 3, 3, 3];

test("a subset has its place", () => {
  assert.equal(place([false, false, false]), 0);
  assert.equal(place([true, false, true]), 5);
});

test("either of two heads can go, both cannot", () => {
  assert.deepEqual(lost(LOSSES, [false, true, true]), { off: [0], together: 0, each: [0] });
  assert.deepEqual(lost(LOSSES, [false, false, true]), { off: [0, 1], together: 4, each: [0, 0] });
  assert.deepEqual(lost(LOSSES, [true, true, true]), { off: [], together: 0, each: [] });
});

test("digits tell losses apart", () => {
  assert.deepEqual([250, 25, 2.5, 0.25, 0.025, 0.002].map(digitsFor), [1, 1, 3, 3, 4, 5]);
});

const state = {
  ...{ query_heads: 8, kv_heads: 8, head_dim: 64, layers: 32, number_bytes: 2 },
  ...{ window: 0, num_first: 0, written: 12, asked: 2 },
};

test("heads that share are parted evenly", () => {
  assert.deepEqual(memory.divisors(12), [1, 2, 3, 4, 6, 12]);
  assert.equal(memory.fitting(12, 8), 6);
  assert.equal(memory.fitting(8, 8), 8);
  assert.equal(memory.fitting(7, 6), 1);
});

test("a room of 16 GB is full, or never", () => {
  assert.equal(memory.fullAt(state, 16e9), 244140);
  assert.equal(
    memory.fullAt({ ...state, window: 5, num_first: 1 }, 16e9),
    Number.POSITIVE_INFINITY,
  );
  // Six tokens have room, and seven have not.
  const six = 6 * 65536;
  assert.equal(memory.fullAt({ ...state, window: 5, num_first: 1 }, six), Number.POSITIVE_INFINITY);
  assert.equal(memory.fullAt({ ...state, window: 5, num_first: 2 }, six), 6);
});

test("numbers as one writes them", () => {
  assert.equal([0, -1, -3, -4, 3, 13].map(softmax.power).join(), "1,½,⅛,1/16,8,8,192");
  const found = [2.625, -0.03125, Number.NaN, Number.NEGATIVE_INFINITY].map(softmax.written);
  assert.equal(found.join(), "2.625,−0.03125,not a number,−∞");
});

test("a sum is told by its largest weights, and the others in one", () => {
  const told = sumInWords([0.5, 0.125, 0.375], [1, 8, -2]);
  assert.equal(told, "0.5000 × 1.0000 + 0.3750 × (−2.0000) + 1.0000 (the other) = 0.750");
  assert.deepEqual(ranked([1, 3, 3, 2]), [1, 2, 3, 0]);
  assert.equal(indexed("s", 10), "s₁₀");
});
