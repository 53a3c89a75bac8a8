/**
 * Where a function that is known on a grid takes whole values: lines from cell to cell, straight
 * within each. Gives [level, x, y, x, y] for each piece; x and y count columns and rows.
 * @param {ArrayLike<number>} values row by row
 * @param {number} columns
 */
export function contours(values, columns) {
  /** @type {number[][]} */
  const pieces = [];
  const last = values.length - columns;
  for (let at = 0; at < last; at++) {
    const [x, y] = [at % columns, Math.floor(at / columns)];
    if (x === columns - 1) continue;
    // Once around the cell; a line enters by one side and leaves by another.
    const around = [
      [x, y, values[at]],
      [x + 1, y, values[at + 1]],
      [x + 1, y + 1, values[at + columns + 1]],
      [x, y + 1, values[at + columns]],
    ];
    const heights = around.map((corner) => corner[2]);
    const highest = Math.max(...heights);
    for (let level = Math.ceil(Math.min(...heights)); level <= highest; level++) {
      const ends = around.flatMap(([px, py, a], k) => {
        const [qx, qy, b] = around[(k + 1) % 4];
        if (a >= level === b >= level) return [];
        const share = (level - a) / (b - a);
        return [px + share * (qx - px), py + share * (qy - py)];
      });
      for (let k = 0; k < ends.length; k += 4) pieces.push([level, ...ends.slice(k, k + 4)]);
    }
  }
  return pieces;
}
