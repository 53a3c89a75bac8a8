// Numbers to check by hand; tests/book/explorables/test_permute_and_encode.py compares others with PyTorch's.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as permute from "../../d2lattn/book/explorables/permute_and_encode/arithmetic.js";

const near = (/** @type {number[]} */ found, /** @type {number[]} */ wanted) => {
  assert.equal(found.length, wanted.length);
  found.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) < 1e-12, `${found} for ${wanted}`));
};
const log3 = Math.log(3);
const identity = [
  [1, 0],
  [0, 1],
];
const pair = {
  tokens: ["a", "b"],
  embeddings: identity,
  W_q: [[2 * log3, 0]],
  W_k: [[0, 0.5]],
  W_v: [
    [4, 0],
    [0, 8],
  ],
  order: [1, 0],
  positions: false,
  word: 0,
};

test("a query of ln 3 puts three quarters on its key; one of 0 looks at both alike", () => {
  const { weights, outputs } = permute.selfAttention(identity, pair);
  near(weights.flat(), [0.25, 0.75, 0.5, 0.5]);
  near(outputs.flat(), [1, 6, 2, 4]);
});

test("scores are divided by the root of the width", () => {
  const four = [[log3], [log3], [log3], [log3]];
  const { weights } = permute.selfAttention([[1], [0]], { W_q: four, W_k: four, W_v: [[1]] });
  const score = (4 * log3 * log3) / 2;
  near(
    weights[0],
    [Math.exp(score), 1].map((x) => x / (Math.exp(score) + 1)),
  );
});

test("without positions a row moves along with its word; with them it changes", () => {
  const moved = permute.compare(pair);
  assert.deepEqual(moved.places, [1, 0]);
  near(moved.changes, [0, 0]);
  near(moved.weights.flat(), [0.5, 0.5, 0.75, 0.25]);
  near(moved.now.flat(), [1, 6, 2, 4]);
  const placed = permute.compare({ ...pair, positions: true });
  assert.ok(Math.min(...placed.changes) > 0.1);
  // At place 0 (0, 1) is added: of a becomes (1, 1), of b (0, 2).
  near(permute.compare({ ...pair, positions: true, order: [0, 1] }).changes, [0, 0]);
  const alone = { ...pair, tokens: ["a"], embeddings: [[1, 0]], positions: true, order: [0] };
  near(permute.compare(alone).now[0], [4, 8]);
});

test("entries 2j and 2j + 1 are a sine and a cosine, slower from pair to pair", () => {
  near(permute.frequencies(4), [1, 0.01]);
  near(permute.encoding(0, 4), [0, 1, 0, 1]);
  near(permute.encoding(3, 3), [Math.sin(3), Math.cos(3), Math.sin(3 * 10000 ** (-2 / 3))]);
});

test("an inner product knows the offset alone, and a turn goes from place to place", () => {
  const on = [true, false, true];
  const wanted = Math.cos(5) + Math.cos(5 * 10000 ** (-4 / 6));
  near(
    [0, 7, 31].map((i) => permute.product(i, 5, on)),
    [wanted, wanted, wanted],
  );
  near([permute.product(4, 0, [true, true, true])], [3]);
  near([permute.product(4, 9, [false, false, false])], [0]);
  near(permute.turned(permute.encoding(11, 6), 5), permute.encoding(16, 6));
  near(permute.turned([1, 0], Math.PI / 2), [0, -1]);
});

test("a word is taken out and put in; places given twice are no order", () => {
  assert.deepEqual(permute.moved([0, 1, 2, 3], 0, 2), [1, 2, 0, 3]);
  assert.deepEqual(permute.moved([0, 1, 2, 3], 3, 0), [3, 0, 1, 2]);
  assert.deepEqual(permute.permutation([2, 0, 1]), [2, 0, 1]);
  assert.deepEqual(permute.permutation([2, 2, 1]), [0, 1, 2]);
});
