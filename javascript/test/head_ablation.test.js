// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { digitsFor, lost, place } from "../../d2lattn/book/explorables/head_ablation/subsets.js";

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
