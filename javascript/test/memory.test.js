// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as memory from "../../d2lattn/book/explorables/writers_memory/arithmetic.js";

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

test("numbers are grouped by thousands", () => {
  const found = [0, 999, 1000, 65536, 1234567, Number.POSITIVE_INFINITY].map(memory.grouped);
  assert.deepEqual(found, ["0", "999", "1,000", "65,536", "1,234,567", "∞"]);
});
