// Guests tell which drink they want, and a matrix with a row for each feature keeps it.

export const GUESTS = ["Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana"];
export const DRINKS = ["tea", "milk", "juice", "water"];
/** Which drink each of them wants. */
export const WISHES = [0, 0, 1, 2, 2, 3, 3, 1];
/** Keys of length 1: four at right angles, and four more, which half agree with each of those. */
export const KEYS = [
  [1, 0, 0, 0],
  [0, 1, 0, 0],
  [0, 0, 1, 0],
  [0, 0, 0, 1],
  [0.5, 0.5, 0.5, 0.5],
  [0.5, -0.5, 0.5, -0.5],
  [0.5, 0.5, -0.5, -0.5],
  [0.5, -0.5, -0.5, 0.5],
];

/**
 * The matrix once the first guests have told: before each, what stands there shrinks to a share.
 * @param {{ told: number, keep: number }} state
 */
export function memory({ told, keep }) {
  const matrix = DRINKS.map(() => DRINKS.map(() => 0));
  for (let guest = 0; guest < told; guest++)
    matrix.forEach((row, i) => {
      row.forEach((_, j) => {
        row[j] *= keep;
      });
      row[WISHES[guest]] += KEYS[guest][i];
    });
  return matrix;
}

/** What a guest's key reads for each drink. @param {number[][]} matrix @param {number} guest */
export const read = (matrix, guest) =>
  DRINKS.map((_, j) => matrix.reduce((total, row, i) => total + KEYS[guest][i] * row[j], 0));

/** The drinks of which there is most. @param {number[]} scores */
export function largest(scores) {
  const most = Math.max(...scores);
  return [...scores.keys()].filter((drink) => scores[drink] > most - 1e-9);
}

/** The drink that alone is largest, or -1. @param {number[]} scores */
export function served(scores) {
  const first = largest(scores);
  return first.length === 1 ? first[0] : -1;
}
