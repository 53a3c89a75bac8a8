// Numbers to check by hand; tests/book/explorables/test_turning_clock.py compares others with PyTorch's.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as turning from "../../d2lattn/book/explorables/turning_clock/arithmetic.js";

const near = (/** @type {number[]} */ found, /** @type {number[]} */ wanted) => {
  assert.equal(found.length, wanted.length);
  found.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) < 1e-12, `${found} for ${wanted}`));
};
const state = { way: "turned", place: 1, distance: 1, ahead: 0 };
const root3 = Math.sqrt(3);

test("a quarter turn takes x to y", () => {
  near(turning.turn([2, 0], Math.PI / 2), [0, 2]);
  near(turning.turn([0, 1], Math.PI), [0, -1]);
});

test("the chapter's pencil: places 1 and 2, and 4 and 5", () => {
  const { query, key, products, score } = turning.scored(state);
  near(query.flat(), [1, root3, root3, 1]);
  near(key.flat(), [-1, root3, 1, root3]);
  near(products, [2, 2 * root3]);
  near([score], [1 + root3]);
  near([turning.scored({ ...state, place: 4 }).score], [1 + root3]);
});

test("turned hands hear the distance alone, added ones the place as well", () => {
  const scores = (/** @type {string} */ way) =>
    [0, 3, 17].map((place) => turning.scored({ ...state, way, place, distance: -2 }).score);
  const [one, ...others] = scores("turned");
  near(others, [one, one]);
  const [first, second] = scores("added");
  assert.ok(Math.abs(first - second) > 0.5);
  near(scores("none"), [4, 4, 4]);
});

test("added hands by hand: at place 0 both are one longer", () => {
  const added = turning.scored({ way: "added", place: 0, distance: 0, ahead: 0 });
  near(added.query.flat(), [3, 0, 3, 0]);
  near([added.score], [9]);
});

test("a query that asks one place on fits best there", () => {
  for (const ahead of [-3, -1, 0, 2]) {
    const found = [-6, -3, -1, 0, 1, 2, 5].map((distance) => [
      turning.scored({ ...state, ahead, distance }).score,
      distance,
    ]);
    near([Math.max(...found.map(([score]) => score))], [4]);
    assert.equal(found.find(([score]) => score > 4 - 1e-9)?.[1], ahead);
  }
});

test("chapter 8's pencil: both moved on, added and turned", () => {
  const all = (/** @type {string} */ way) =>
    [0, 1, 2, 3, 4, 5, 6].map((moved) => turning.neighbours(way, moved).product);
  near(all("added"), [7.5, 4.5, 1.5, 1.5, 4.5, 7.5, 7.5]);
  near(all("turned"), [2, 2, 2, 2, 2, 2, 2]);
  near(turning.neighbours("added", 3).key, [1.5, -root3 / 2]);
  near(
    [1, 2, 3].map((apart) => turning.neighbours("turned", 7, apart).product),
    [2, -2, -4],
  );
});
