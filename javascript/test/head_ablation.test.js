// Numbers to check by hand; tests/book/explorables/test_head_ablation.py compares others with PyTorch's.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  contributions,
  countHeads,
  digitsFor,
  lost,
  place,
  worth,
} from "../../d2lattn/book/explorables/head_ablation/subsets.js";

// Heads 1 and 2 do the same work, worth 6; head 3 is worth 3 on its own, and 1 beside them.
const LOSSES = [10, 4, 4, 4, 7, 3, 3, 3];

test("a subset has its place", () => {
  assert.equal(place([false, false, false]), 0);
  assert.equal(place([true, false, true]), 5);
  assert.equal(countHeads(LOSSES), 3);
});

test("what a head saves, beside all others, alone, and on average over all six orders", () => {
  const [a, b, c] = worth(LOSSES);
  assert.deepEqual([a.last, a.first], [0, 6]);
  // Head 1 comes first (6) in two orders, second after 2 (0), second after 3 (4), third (0) in two.
  assert.ok(Math.abs(a.mean - (6 + 6 + 0 + 4 + 0 + 0) / 6) < 1e-12);
  assert.deepEqual(b, a);
  assert.deepEqual([c.last, c.first], [1, 3]);
  assert.ok(Math.abs(c.mean - (3 + 3 + 1 + 1 + 1 + 1) / 6) < 1e-12);
  assert.ok(Math.abs(a.mean + b.mean + c.mean - (10 - 3)) < 1e-12);
});

test("either of two heads can go, both cannot", () => {
  assert.deepEqual(lost(LOSSES, [false, true, true]), { off: [0], together: 0, each: [0] });
  assert.deepEqual(lost(LOSSES, [false, false, true]), { off: [0, 1], together: 4, each: [0, 0] });
  assert.deepEqual(lost(LOSSES, [true, true, true]), { off: [], together: 0, each: [] });
});

test("a contribution is a weight times a length", () => {
  assert.deepEqual(contributions([[0.5, 0.25]], [2, 0]), [[1, 0]]);
});

test("digits tell losses apart", () => {
  assert.deepEqual([250, 25, 2.5, 0.25, 0.025, 0.002].map(digitsFor), [1, 1, 3, 3, 4, 5]);
});
