import assert from "node:assert/strict";
import test from "node:test";
import { contours } from "../../d2lattn/book/explorables/saturation_lab/contours.js";

const linesOn = (n, value) => {
  const grid = Array.from({ length: n * n }, (_, at) => value(at % n, Math.floor(at / n)));
  return contours(grid, n);
};

test("lines of a distance are circles, one for each whole value, and closed", () => {
  const middle = 20;
  const pieces = linesOn(41, (x, y) => Math.hypot(x - middle, y - middle) / 4);
  const ends = new Map();
  for (const [level, ...piece] of pieces)
    for (const [x, y] of [piece.slice(0, 2), piece.slice(2)]) {
      assert.ok(Math.abs(Math.hypot(x - middle, y - middle) - 4 * level) < 0.15);
      const place = [level, x.toFixed(6), y.toFixed(6)].join();
      ends.set(place, (ends.get(place) ?? 0) + 1);
      // Every line but those that leave the grid comes back to where it began.
      if (level <= 4 && level > 0) assert.ok(ends.get(place) <= 2);
    }
  const inside = [...ends].filter(([place]) => Number(place.split(",")[0]) <= 4);
  assert.ok(inside.length > 40);
  for (const [place, count] of inside) assert.equal(count, 2, place);
  assert.deepEqual([...new Set(pieces.map(([level]) => level))].sort(), [1, 2, 3, 4, 5, 6, 7]);
});

test("lines of a plane are straight, and a flat one has none", () => {
  for (const [level, x, , to] of linesOn(9, (x) => 0.5 * x - 0.25)) {
    assert.ok(Math.abs(x - (2 * level + 0.5)) < 1e-9);
    assert.ok(Math.abs(to - x) < 1e-9);
  }
  assert.deepEqual(
    linesOn(5, () => 0.5),
    [],
  );
});

test("crossed hills give two lines in one cell", () => {
  assert.equal(contours([1.5, 0.5, 0.5, 1.5], 2).length, 2);
});
