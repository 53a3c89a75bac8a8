// The tests in Python compare what the page shows with PyTorch; here are numbers to check by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as forge from "../../d2lattn/book/explorables/forge/evidence.js";
import { reasons } from "../../d2lattn/book/explorables/forge/telling.js";

test("a verdict follows from the rule, its bounds included", () => {
  const of = (
    /** @type {number} */ error,
    /** @type {number} */ changed,
    /** @type {number} */ other,
  ) => forge.verdict(/** @type {any} */ ({ error, changed, other })).name;
  assert.equal(of(0.1, 0.5, 0.05), "both");
  assert.equal(of(0.101, 0.5, 0.05), "needed");
  assert.equal(of(0.1, 0.5, 0.051), "plausible");
  assert.equal(of(0.1, 0.09, 0), "plausible");
  assert.equal(of(0.5, 0.2, 0.1), "neither");
  assert.equal(of(1, Number.NaN, Number.NaN), "neither");
});

test("reasons tell the numbers, without dividing by nothing", () => {
  const of = (/** @type {number} */ changed, /** @type {number} */ other) =>
    reasons(/** @type {any} */ ({ error: 0.05, diagonal: 0.2, changed, other }))[1];
  assert.match(of(0.5, 0.1), /^Needed: no\. 50\.0.% .* against 10\.0.%: 5\.0 times as many\.$/);
  assert.match(of(0.5, 0), /over 100 times/);
  assert.match(of(0, 0), /changes no word/);
  assert.match(of(Number.NaN, Number.NaN), /No word has a link/);
});
