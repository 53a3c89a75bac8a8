// Numbers to check by hand; tests/book/explorables/test_writers_memory.py compares others with PyTorch's.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as memory from "../../d2lattn/book/explorables/writers_memory/arithmetic.js";

const state = {
  ...{ query_heads: 8, kv_heads: 8, head_dim: 64, layers: 32, number_bytes: 2 },
  ...{ window: 0, num_first: 0, written: 12, asked: 2 },
};
const places = (/** @type {boolean[]} */ here) => here.flatMap((yes, j) => (yes ? [j] : []));

test("bytes of a token: a key and a value a head and layer", () => {
  assert.equal(memory.tokenBytes(state), 65536);
  assert.equal(memory.tokenBytes({ ...state, kv_heads: 1 }), 8192);
  // GPT-3, by the sizes of its paper.
  const large = { ...state, query_heads: 96, kv_heads: 96, head_dim: 128, layers: 96 };
  assert.equal(memory.tokenBytes(large), 4718592);
});

test("heads that share are parted evenly", () => {
  assert.deepEqual(memory.divisors(12), [1, 2, 3, 4, 6, 12]);
  assert.equal(memory.fitting(12, 8), 6);
  assert.equal(memory.fitting(8, 8), 8);
  assert.equal(memory.fitting(7, 6), 1);
});

test("a window keeps the last ones, itself among them, and the first ones besides", () => {
  const sees = (/** @type {object} */ more) => places(memory.kept({ ...state, ...more }));
  assert.equal(sees({}).length, 12);
  assert.deepEqual(sees({ window: 3 }), [9, 10, 11]);
  assert.deepEqual(sees({ window: 3, num_first: 2 }), [0, 1, 9, 10, 11]);
  assert.deepEqual(sees({ window: 3, num_first: 4, written: 5 }), [0, 1, 2, 3, 4]);
  assert.deepEqual(sees({ window: 1 }), [11]);
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

test("who was forgotten, when, and how far news travels", () => {
  const asks = (/** @type {object} */ more) => memory.asking({ ...state, ...more });
  // The twelfth stands 9 places behind the third; a window of 9 has just lost it.
  assert.deepEqual(asks({ window: 10 }).can, true);
  const just = asks({ window: 9 });
  assert.deepEqual([just.can, just.back, just.ago], [false, 9, 1]);
  assert.deepEqual(asks({ window: 9, num_first: 3 }).can, true);
  assert.equal(asks({ window: 4, layers: 3 }).news, true);
  assert.equal(asks({ window: 4, layers: 2 }).news, false);
});

test("the answer says who asks, and what was lost", () => {
  const says = (/** @type {object} */ more) =>
    memory.answer({ ...state, ...more }, "cow").replaceAll("\u00a0", " ");
  assert.equal(says({}), "Yes: “cow” can be asked by all 8 query heads, each at its own key.");
  assert.match(says({ kv_heads: 2 }), /all 8 query heads, 4 at each key\.$/);
  assert.match(says({ kv_heads: 1 }), /through one shared key\.$/);
  assert.match(says({ query_heads: 1, kv_heads: 1 }), /by the one query head\.$/);
  assert.match(says({ window: 10 }), /It is among the last 10\.$/);
  assert.match(says({ window: 2, num_first: 3 }), /It is among the first 3, which stay\.$/);
  assert.equal(says({ window: 4 }), "No: “cow” was forgotten 6 steps ago.");
  assert.equal(says({ window: 9 }), "No: “cow” was forgotten 1 step ago.");
});

test("how far news has come", () => {
  const says = (/** @type {object} */ more) =>
    memory.rumour({ ...state, ...more }, "cow").replaceAll("\u00a0", " ");
  assert.equal(says({}), "");
  assert.equal(
    says({ window: 4, layers: 2 }),
    "News of “cow” cannot have come through those between: " +
      "2 layers reach 2 · (4 − 1) = 6 tokens back; it stands 9 back.",
  );
  assert.match(says({ window: 9 }), /may have come .* 32 · \(9 − 1\) = 256 tokens back/);
  assert.match(says({ window: 2, layers: 1 }), /1 layer reaches 1 · \(2 − 1\) = 1 token back/);
});

test("numbers are grouped by thousands", () => {
  const found = [0, 999, 1000, 65536, 1234567, Number.POSITIVE_INFINITY].map(memory.grouped);
  assert.deepEqual(found, ["0", "999", "1,000", "65,536", "1,234,567", "∞"]);
});
