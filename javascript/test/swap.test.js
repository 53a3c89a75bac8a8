// A sentence of two words; its second state, exchanged, turns the first word.
import assert from "node:assert/strict";
import { test } from "node:test";
import { effects, turned } from "../../d2lattn/book/explorables/swap/effects.js";

/** @type {import("../../d2lattn/book/explorables/swap/effects.js").Case} */
const ONE = {
  ...{ source: ["the", "cow"], target: ["la", "vache"], cut: [false, false] },
  ...{ place: 1, word: "dog" },
  readers: [
    {
      weights: [
        [0.25, 0.75],
        [0, 1],
      ],
      own: [1, 0.9],
      swaps: [
        [],
        [
          [0, 0.25, "le", 0.125, 0.75],
          [1, 0.8],
        ],
      ],
    },
  ],
};

test("with nothing exchanged, and with a state that is the same, all stays", () => {
  for (const column of [-1, 0]) {
    const rows = effects(ONE, 0, column);
    assert.deepEqual(
      rows.map((row) => [row.now, ...row.own, ...row.other]),
      [
        ["la", 1, 1, 1, 1],
        ["vache", 0.9, 0.9, 0.9, 0.9],
      ],
    );
    assert.deepEqual(turned(rows), []);
  }
});

test("a word turns, and another only becomes less likely", () => {
  const rows = effects(ONE, 0, 1);
  assert.deepEqual(rows[0], { word: "la", own: [1, 0.25], now: "le", other: [0.125, 0.75] });
  assert.deepEqual(rows[1], { word: "vache", own: [0.9, 0.8], now: "vache", other: [0.9, 0.8] });
  assert.deepEqual(turned(rows), [rows[0]]);
});
