// Numbers to check by hand; tests/book/explorables/test_matrix_memory.py compares others with PyTorch's.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  GUESTS,
  KEYS,
  largest,
  memory,
  read,
  served,
  WISHES,
} from "../../d2lattn/book/explorables/matrix_memory/arithmetic.js";

const dot = (/** @type {number[]} */ a, /** @type {number[]} */ b) =>
  a.reduce((total, x, i) => total + x * b[i], 0);

/** Who of those who told is served right. @param {number} told @param {number} keep */
const right = (told, keep = 1) =>
  GUESTS.slice(0, told).filter((_, i) => served(read(memory({ told, keep }), i)) === WISHES[i]);

test("keys have length 1, and each four stand at right angles", () => {
  KEYS.forEach((key, i) => {
    KEYS.forEach((other, j) => {
      const apart = Math.floor(i / 4) === Math.floor(j / 4) ? Number(i === j) : 0.5;
      assert.equal(Math.abs(dot(key, other)), apart);
    });
  });
});

test("four guests fill a row each; the fifth writes a half into all", () => {
  assert.deepEqual(memory({ told: 4, keep: 1 }), [
    [1, 0, 0, 0],
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 1, 0],
  ]);
  assert.deepEqual(
    memory({ told: 5, keep: 1 }).map((row) => row[2]),
    [0.5, 0.5, 0.5, 1.5],
  );
  assert.deepEqual(read(memory({ told: 5, keep: 1 }), 0), [1, 0, 0.5, 0]);
});

test("six are served right, and the seventh costs the first error", () => {
  for (let told = 0; told <= 6; told++) assert.equal(right(told).length, told);
  assert.equal(right(7).length, 5);
  assert.deepEqual(right(8), ["Ben", "Dan", "Eva", "Finn"]);
});

test("what was there shrinks before a guest writes, and the last ones are served", () => {
  assert.equal(memory({ told: 3, keep: 0.5 })[0][0], 0.25);
  assert.deepEqual(right(8, 0.8), ["Ben", "Dan", "Eva", "Finn", "Gus", "Hana"]);
});

test("of two that are largest none is served", () => {
  assert.equal(served([1, 0.5, 1, 0]), -1);
  assert.deepEqual(largest([1, 0.5, 1, 0]), [0, 2]);
  assert.equal(served([0, 0, 0.2, 0]), 2);
  assert.equal(served([0, 0, 0, 0]), -1);
});
