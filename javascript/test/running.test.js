// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as softmax from "../../d2lattn/book/explorables/running_softmax/arithmetic.js";

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
