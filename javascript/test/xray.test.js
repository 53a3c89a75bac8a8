// Numbers to check by hand; tests/book/explorables/test_xray.py compares others with PyTorch's.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  forward,
  largest,
  leak,
  look,
  unpack,
} from "../../d2lattn/book/explorables/xray/forward.js";

const near = (/** @type {number[]} */ found, /** @type {number[]} */ wanted) => {
  assert.equal(found.length, wanted.length);
  found.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) < 1e-4, `${found} for ${wanted}`));
};

/**
 * Matrices as they stand in a page.
 * @param {Record<string, number[][]>} matrices
 * @returns {Record<string, [number[], string]>}
 */
const packed = (matrices) =>
  Object.fromEntries(
    Object.entries(matrices).map(([name, rows]) => [
      name,
      [
        [rows.length, rows[0].length],
        Buffer.from(new Float32Array(rows.flat()).buffer).toString("base64"),
      ],
    ]),
  );

const identity = [
  [1, 0],
  [0, 1],
];
const zeros = [
  [0, 0],
  [0, 0],
];
// Tokens a, > and . are the directions (1, 0), (0, 1) and (-1, -1), so that scores are read off.
const ends = {
  "embedding.weight": [
    [1, 0],
    [0, 1],
    [-1, -1],
  ],
  "dense.weight": [
    [1, 0],
    [0, 1],
    [-1, -1],
  ],
};
const layer = {
  "blks.0.attention1.W_q.weight": zeros,
  "blks.0.attention1.W_k.weight": identity,
  "blks.0.attention1.W_v.weight": identity,
  "blks.0.attention1.W_o.weight": identity,
  "blks.0.ffn.dense1.weight": zeros,
  "blks.0.ffn.dense2.weight": zeros,
};
const make = (/** @type {Record<string, number[][]>} */ parts, pre = true) =>
  unpack({ heads: 1, pre, parts: packed({ ...ends, ...parts }) });
const root = Math.SQRT2;
const silent = { positions: false };

test("a token is a row of the table, times the root of the width, plus its place", () => {
  const { lens, steps } = forward(make({}, false), [0, 1]);
  near(lens[0][0], [root, 1, -root - 1]);
  near(lens[0][1], [Math.sin(1), root + Math.cos(1), -Math.sin(1) - root - Math.cos(1)]);
  near(steps[0].holds, [root, root]);
  near(steps[1].adds, [1, 1]);
  near(forward(make({}, false), [0, 1], silent).lens[0][0], [root, 0, -root]);
});

test("a query of zeros looks at all that it may see alike", () => {
  const net = make(layer);
  near(forward(net, [0, 1], silent).weights[0][0].flat(), [1, 0, 0.5, 0.5]);
  near(forward(net, [0, 1], { ...silent, mask: false }).weights[0][0].flat(), [0.5, 0.5, 0.5, 0.5]);
});

test("pre-norm: attention reads normed copies, and its sum is not normed but for the output", () => {
  const { lens, steps } = forward(make(layer), [0, 1], silent);
  // Normed, (√2, 0) is (1, -1) and (0, √2) is (-1, 1); the second place gets their mean, (0, 0).
  near(steps[2].adds, [root, 0]);
  near(steps[2].holds, [Math.hypot(root + 1, 1), root]);
  near(lens[1][0], [1, -1, 0]);
});

test("post-norm: what is added is normed, scaled and shifted", () => {
  const norms = {
    "blks.0.addnorm1.ln.weight": [[3, 3]],
    "blks.0.addnorm1.ln.bias": [[1, 0]],
  };
  const { steps } = forward(make({ ...layer, ...norms }, false), [0, 1], silent);
  near(steps[2].adds, [root, 1]);
  near(steps[2].holds, [Math.hypot(3 + 1, -3), Math.hypot(-3 + 1, 3)]);
});

test("the network cuts at zero, and adds its biases", () => {
  const inner = {
    "blks.0.attention1.W_o.weight": zeros,
    "blks.0.ffn.dense1.weight": identity,
    "blks.0.ffn.dense1.bias": [[1, 0]],
    "blks.0.ffn.dense2.weight": identity,
    "blks.0.ffn.dense2.bias": [[0, 5]],
  };
  // It reads (1, -1): (2, -1), cut to (2, 0); (2, 5) in the end.
  near(forward(make({ ...layer, ...inner }), [0], silent).steps[3].adds, [Math.hypot(2, 5)]);
});

test("heads cut the width into pieces, and scores are divided by the root of a piece's", () => {
  const two = unpack({
    heads: 2,
    pre: false,
    parts: packed({
      ...ends,
      ...layer,
      "blks.0.attention1.W_q.weight": [
        [Math.log(3) / 2, 0],
        [0, 0],
      ],
    }),
  });
  // The first entry of the query is ln 3 / √2 at place 2 and of the key √2: a score of ln 3 for a.
  const { weights } = forward(two, [1, 0], silent);
  near(weights[0][0][1], [0.25, 0.75]);
  near(weights[0][1][1], [0.5, 0.5]);
});

test("a place is changed by later ones only if the mask is lifted", () => {
  const net = make(layer);
  for (const mask of [true, false]) {
    const { lens } = forward(net, [2, 0], { ...silent, mask });
    const found = leak(net, [2, 0], lens[1], 0, { ...silent, mask });
    if (mask) assert.equal(found, 0);
    else assert.ok(found > 0.1);
  }
});

test("what is written is what is likeliest, and the truth is the word backwards", () => {
  // Whatever it reads, the output's bias says a.
  const net = make({ ...layer, "dense.bias": [[9, 0, 0]] });
  const seen = look(net, [0, 0], silent);
  assert.deepEqual(seen.written, [0, 0, 0]);
  assert.deepEqual(seen.truth, [0, 0, 2]);
  assert.deepEqual(seen.read, [0, 0, 1, 0, 0]);
  assert.deepEqual(seen.says, [0, 0, 0]);
  assert.equal(seen.right, 2);
  // All weights are alike: a third at ">", a quarter at the letter after it.
  near(seen.shares.flat(), [(1 / 3 + 1 / 4) / 2]);
  const stops = make({ ...layer, "dense.bias": [[0, 0, 9]] });
  assert.deepEqual(look(stops, [0, 0], silent).read, [0, 0, 1, 2, 2]);
  const given = look(stops, [0, 0], { ...silent, forced: true });
  assert.deepEqual(given.read, [0, 0, 1, 0, 0]);
  assert.deepEqual([given.says, given.right], [[2, 2, 2], 1]);
});

test("of equals the first is the largest", () => {
  assert.equal(largest([1, 3, 3]), 1);
});
