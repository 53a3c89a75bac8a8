// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as kit from "../../d2lattn/book/explorables/kit/arithmetic.js";
import { inkOn, inkRgb } from "../../d2lattn/book/explorables/kit/ink.js";
import { fixed, short } from "../../d2lattn/book/explorables/kit/numbers.js";

const near = (/** @type {number[]} */ found, /** @type {number[]} */ wanted) => {
  assert.equal(found.length, wanted.length);
  found.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) < 1e-12, `${found} for ${wanted}`));
};

test("softmax sums to 1, bears large scores, and gives nothing to what is masked", () => {
  near(kit.softmax([0, Math.log(3)]), [0.25, 0.75]);
  near(kit.softmax([1e6, 1e6]), [0.5, 0.5]);
  near(kit.softmax([0, 9, 0], [true, false, true]), [0.5, 0, 0.5]);
  near(kit.softmax([1, 2], [false, false]), [0, 0]);
});

test("entropy of n equal weights is ln n", () => {
  near([kit.entropy([0.25, 0.25, 0.25, 0.25]), kit.entropy([1, 0])], [Math.log(4), 0]);
});

test("variance divides by n, and a line of numbers has both ends", () => {
  assert.equal(kit.variance([1, 3]), 1);
  assert.deepEqual(kit.linspace(0, 1, 3), [0, 0.5, 1]);
});

test("kernel regression: the nearest key counts however small the bandwidth", () => {
  near(kit.kernelWeights(0, [1, 2], 1e-160, "gaussian"), [1, 0]);
  near(kit.kernelWeights(0, [0.5, 2], 1, "boxcar"), [1, 0]);
  assert.equal(kit.kernelPrediction(0, [1, 3], [5, 7], 2, "boxcar"), 5);
  assert.ok(Number.isNaN(kit.kernelPrediction(9, [1, 3], [5, 7], 2, "boxcar")));
  assert.equal(kit.leaveOneOutError([0, 1], [2, 4], 10, "boxcar"), 4);
});

test("numbers are printed with a true minus sign and never as −0", () => {
  assert.equal(fixed(-0.0001), "0.00");
  assert.equal(fixed(-1.5, 1), "−1.5");
  assert.equal(fixed(2e7), "2.00e+7");
  assert.equal(fixed(2e-7), "0.00");
  assert.equal(fixed(Number.NaN), "none");
});

test("what is too small for its digits is a power of ten in a formula", () => {
  assert.equal(short(3.2e-9), "3.20·10⁻⁹");
  assert.equal(short(-1.5e-12), "−1.50·10⁻¹²");
  assert.equal(short(0.25), "0.250");
  assert.equal(short(0), "0.000");
});

test("ink goes from paper to all of it", () => {
  assert.deepEqual(inkRgb(0), [255, 253, 248]);
  assert.deepEqual(inkRgb(0.5), [144, 142, 137]);
  assert.deepEqual(inkRgb(2), [33, 30, 26]);
});

test("a number can be read on its cell", () => {
  assert.deepEqual([0.5, 0.6].map(inkOn), ["var(--d2lx-ink)", "var(--d2lx-paper)"]);
});
