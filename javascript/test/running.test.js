// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as softmax from "../../d2lattn/book/explorables/running_softmax/arithmetic.js";

test("numbers as one writes them", () => {
  assert.equal([0, -1, -3, -4, 3, 13].map(softmax.power).join(), "1,½,⅛,1/16,8,8,192");
  const found = [2.625, -0.03125, Number.NaN, Number.NEGATIVE_INFINITY].map(softmax.written);
  assert.equal(found.join(), "2.625,−0.03125,not a number,−∞");
});
