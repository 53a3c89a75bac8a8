/**
 * What Python has made of one sentence and one reader; see d2lattn/book/explorables/swap.py.
 * @typedef {[number, number] | [number, number, string, number, number]} Effect
 * @typedef {{ weights: number[][], own: number[], swaps: Effect[][] }} Saw
 * @typedef {{
 *   source: string[], target: string[], cut: [boolean, boolean], place: number, word: string,
 *   readers: Saw[],
 * }} Case
 * @typedef {{ word: string, own: [number, number], now: string, other: [number, number] }} Row
 */

/**
 * Each row with a column's state exchanged, −1 for none: how likely its word was and is, and what is
 * the likeliest now.
 * @param {Case} one
 * @param {number} reader
 * @param {number} column
 * @returns {Row[]}
 */
export function effects(one, reader, column) {
  const saw = one.readers[reader];
  /** @type {Row[]} */
  const rows = one.target.map((word, row) => {
    const was = saw.own[row];
    return { word, own: [was, was], now: word, other: [was, was] };
  });
  for (const [row, own, ...other] of saw.swaps[column] ?? []) {
    rows[row].own[1] = own;
    const [now, before, after] = other;
    if (now === undefined) rows[row].other = rows[row].own;
    else [rows[row].now, rows[row].other] = [now, [before ?? 0, after ?? 0]];
  }
  return rows;
}

/** The rows whose word turns. @param {Row[]} rows */
export const turned = (rows) => rows.filter(({ word, now }) => word !== now);
