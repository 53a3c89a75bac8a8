// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  glance,
  indexed,
  PICTURES,
  ranked,
  sumInWords,
  tell,
} from "../../d2lattn/book/explorables/storyboard/steps.js";

const board = {
  source: ["the", "cow"],
  target: ["la", "vache"],
  values: [
    [1, 0],
    [-1, 2],
  ],
  states: [
    [0, 0],
    [0.5, 0],
    [0.25, 1],
  ],
  scores: [
    [0, 0],
    [0, Math.log(3)],
  ],
  embeddings: [[1], [2]],
  candidates: [
    ["la", "le"],
    ["vache", "chat"],
  ],
  chances: [
    [0.75, 0.125],
    [0.5, 0.25],
  ],
  widths: [2, 1, 9],
  word: 1,
};
test("a sum is told by its largest weights, and the others in one", () => {
  const told = sumInWords([0.5, 0.125, 0.375], [1, 8, -2]);
  assert.equal(told, "0.5000 × 1.0000 + 0.3750 × (−2.0000) + 1.0000 (the other) = 0.750");
  assert.deepEqual(ranked([1, 3, 3, 2]), [1, 2, 3, 0]);
  assert.equal(indexed("s", 10), "s₁₀");
});

test("every picture of every word has a sentence", () => {
  for (const word of [0, 1])
    for (const picture of PICTURES.keys()) {
      const text = tell({ ...board, word }, picture + 1);
      assert.match(text, /\.$/);
      assert.doesNotMatch(text, /undefined|NaN|none/);
    }
});

test("a glance says where it looked, and leaves out what got less than a tenth", () => {
  const told = (board) => glance(board).replace(/[\u2068\u2069]/g, "");
  assert.equal(told(board), "Before it writes “vache”, it looks at “cow” 0.75, “the” 0.25.");
  const sharp = { ...board, scores: board.scores.map(() => [9, 0]) };
  assert.equal(told(sharp), "Before it writes “vache”, it looks at “the” 1.00.");
});
