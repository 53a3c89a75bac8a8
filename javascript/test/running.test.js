// Numbers to check by hand; tests/book/explorables/test_running_softmax.py compares others with PyTorch's.
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

test("tiles of every size end with the same", () => {
  for (const tile of [1, 2, 4]) assert.deepEqual(kept({ ...chapter, tile }).at(-1), [3, 2, 5.25]);
  const [, first, second] = softmax.passes({ ...chapter, tile: 3 });
  assert.deepEqual([first.last, second.first, second.last, second.shrink], [3, 3, 4, 1]);
  assert.equal(softmax.lines(first, second, chapter.values)[0], "1.75 + ¼ = 2");
  assert.match(softmax.told(first, second, true), /stays 3/);
});

test("a larger score late takes nearly all that was kept", () => {
  const [, , last] = softmax.passes({ ...chapter, scores: [0, 0, 5, 0] });
  assert.equal(last.shrink, 1 / 32);
  assert.equal(last.sum, 2 / 32 + 1 + 1 / 32);
});

test("plain sums hold small scores, and lose what is above 65,504", () => {
  const plain = { ...chapter, running: false };
  assert.deepEqual(kept(plain).at(-1), [0, 16, 42]);
  const large = { ...plain, scores: chapter.scores.map((score) => score + 12) };
  assert.deepEqual(kept(large), [
    [0, 0, 0],
    [0, 24576, 40960],
    [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ]);
  const [, first, second] = softmax.passes(large);
  assert.match(softmax.told(first, second, false), /Too large.* 65,504/);
  // With the largest taken off nothing has changed but the largest.
  assert.deepEqual(kept({ ...large, running: true }).at(-1), [15, 2, 5.25]);
});

test("what is too large with another sign or none", () => {
  const far = { ...chapter, tile: 4, running: false, scores: [16, 0, 0, 0] };
  const end = (/** @type {number[]} */ values) => kept({ ...far, values }).at(-1);
  assert.deepEqual(end([-1, 0, 0, 0]), [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  assert.deepEqual(end([0, 0, 0, 0]), [0, Number.POSITIVE_INFINITY, Number.NaN]);
  // The sum alone is too large.
  const [, , last] = softmax.passes({
    ...far,
    tile: 2,
    scores: [15, 0, 15, 0],
    values: [0.5, 0, 0.5, 0],
  });
  assert.deepEqual([last.sum, last.weighed], [Number.POSITIVE_INFINITY, 32768]);
  assert.match(softmax.told(last, last, false), /Too large/);
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
