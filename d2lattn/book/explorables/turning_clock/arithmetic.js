// Two hands of a query and of a key, as [x, y] each: what a place does to them, and their score.

/** Radians that a hand turns from one place to the next: 60° and 30°. */
export const SPEEDS = [Math.PI / 3, Math.PI / 6];
export const WAYS = ["turned", "added", "none"];
/** What both say before anybody hears of places. */
export const CONTENT = [
  [2, 0],
  [2, 0],
];

/** Turn a hand against the clock. @param {number[]} hand @param {number} angle */
export function turn([x, y], angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return [x * c - y * s, x * s + y * c];
}

/**
 * The hands at a place. @param {number[][]} content @param {number} place @param {string} way
 */
export function at(content, place, way) {
  return content.map((hand, j) => {
    const angle = SPEEDS[j] * place;
    if (way === "turned") return turn(hand, angle);
    if (way === "none") return hand;
    // The waves of chapter 6, a hand of length 1, are added.
    return [hand[0] + Math.cos(angle), hand[1] + Math.sin(angle)];
  });
}

/** A key's content if it fits a query so many places before it. @param {number} ahead */
export const asked = (ahead) => CONTENT.map((hand, j) => turn(hand, -SPEEDS[j] * ahead));

/** @param {number[]} a @param {number[]} b */
export const product = (a, b) => a[0] * b[0] + a[1] * b[1];

/**
 * Products of the two pairs, and the score: their sum by the root of the width, 4.
 * @param {{ way: string, place: number, distance: number, ahead: number }} state
 */
export function scored({ way, place, distance, ahead }) {
  const query = at(CONTENT, place, way);
  const key = at(asked(ahead), place + distance, way);
  const products = query.map((hand, j) => product(hand, key[j]));
  return { query, key, products, score: (products[0] + products[1]) / 2 };
}

/**
 * A query that says (2, 0), and a key one place on or more that says the same, in the first pair
 * alone: both moved on by so many places.
 * @param {string} way @param {number} moved @param {number} distance
 */
export function neighbours(way, moved, distance = 1) {
  const [query, key] = [0, distance].map((place) => at(CONTENT.slice(0, 1), place + moved, way)[0]);
  return { query, key, product: product(query, key) };
}
