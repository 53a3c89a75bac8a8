// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as softmax from "../../d2lattn/book/explorables/running_softmax/arithmetic.js";

const chapter = { scores: [1, 2, 3, 1], values: [1, 2, 3, 4], tile: 2, running: true };
const kept = (/** @type {typeof chapter} */ state) =>
  softmax.passes(state).map(({ largest, sum, weighed }) => [largest, sum, weighed]);

test("the chapter's pencil: four keys in tiles of two", () => {
  assert.deepEqual(kept(chapter), [
    [Number.NEGATIVE_INFINITY, 0, 0],
    [2, 1.5, 2.5],
    [3, 2, 5.25],
  ]);
  const [, first, second] = softmax.passes(chapter);
  assert.deepEqual([first.powers, second.powers, second.shrink], [[-1, 0], [0, -2], 0.5]);
  assert.deepEqual(softmax.lines(first, second, chapter.values), [
    "1.5 × ½ + 1 + ¼ = 2",
    "2.5 × ½ + 1·3 + ¼·4 = 5.25",
  ]);
  assert.equal(
    softmax.told(first, second, true),
    "The largest went from 2 to 3: both sums are halved.",
  );
  assert.ok(Math.abs(softmax.whole(chapter.scores, chapter.values) - 2.625) < 1e-12);
});

test("numbers as one writes them", () => {
  assert.deepEqual([0, -1, -3, -4, 3, 13].map(softmax.power), [
    "1",
    "½",
    "⅛",
    "1/16",
    "8",
    "8,192",
  ]);
  assert.deepEqual(
    [2.625, -0.03125, 24576, Number.NaN, Number.NEGATIVE_INFINITY].map(softmax.written),
    ["2.625", "−0.03125", "24,576", "not a number", "−∞"],
  );
});
