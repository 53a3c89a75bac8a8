// What a writer keeps of a text: keys and values, as bytes; and which tokens it can still ask.

/**
 * The sizes of a model and the place of its hand: see WritersMemory in Python.
 * @typedef {{
 *   query_heads: number, kv_heads: number, head_dim: number, layers: number, number_bytes: number,
 *   window: number, num_first: number, written: number, asked: number,
 * }} State
 */

/** The numbers that divide n, smallest first. @param {number} n */
export const divisors = (n) =>
  Array.from({ length: n }, (_, i) => i + 1).filter((d) => n % d === 0);

/** As many heads of keys, or fewer, as heads of queries can share evenly. @param {number} queries @param {number} keys */
export const fitting = (queries, keys) => Number(divisors(queries).findLast((d) => d <= keys)) || 1;

/** A key and a value a head and layer. @param {State} state */
export const tokenBytes = ({ layers, kv_heads, head_dim, number_bytes }) =>
  2 * layers * kv_heads * head_dim * number_bytes;

/**
 * For each token that is written, whether the last one can still ask it. No window: a window of 0.
 * @param {State} state
 */
export const kept = ({ written, window, num_first }) =>
  Array.from({ length: written }, (_, j) => !window || written - 1 - j < window || j < num_first);

/**
 * How many tokens a room for so many bytes holds; Infinity where more are forgotten than come.
 * @param {State} state @param {number} room
 */
export function fullAt(state, room) {
  const { window, num_first } = state;
  const fit = Math.floor(room / tokenBytes(state));
  return window && window + num_first <= fit ? Infinity : fit;
}

/**
 * Of the token that is asked for: can it be asked (and is it near, or one of the first), how far
 * back it stands, how many steps ago it was forgotten, how far back all layers together reach, and
 * whether it stands within that.
 * @param {State} state
 */
export function asking(state) {
  const { written, window, num_first, layers, asked } = state;
  const back = written - 1 - asked;
  const [near, first] = [!window || back < window, asked < num_first];
  const reach = window ? layers * (window - 1) : Infinity;
  return { can: near || first, near, back, ago: back - window + 1, reach, news: back <= reach };
}

/** 65536 as "65,536". @param {number} n */
export const grouped = (n) => (n === Infinity ? "∞" : `${n}`.replace(/\B(?=(\d{3})+$)/g, ","));

/** "1 layer", "32 layers". @param {number} n @param {string} one */
export const many = (n, one) => `${grouped(n)} ${one}${n === 1 ? "" : "s"}`;

/** Where it was forgotten, whether all layers together can have brought news of it. @param {State} state @param {string} token */
export function rumour(state, token) {
  const { window, layers } = state;
  const { can, back, reach, news } = asking(state);
  if (can) return "";
  return (
    `Information from “${token}” ${news ? "may" : "cannot"} have come through the tokens in between: ` +
    `${many(layers, "layer")} reach${layers === 1 ? "es" : ""} ${layers}\u00a0·\u00a0(${window}\u00a0−\u00a01) = ${many(reach, "token")} back; ` +
    `it stands ${back} back.`
  );
}

/** Who can ask it, or since when nobody can. @param {State} state @param {string} token */
export function answer(state, token) {
  const { query_heads: all, kv_heads: few, window, num_first } = state;
  const { can, near, ago } = asking(state);
  if (!can) return `No: “${token}” was deleted ${many(ago, "step")} ago.`;
  const who = all === 1 ? "the one query head" : `all ${all} query heads`;
  const each = all === few ? "each with its own key" : `${all / few} for each key`;
  const how = all === 1 ? "" : few === 1 ? ", through one shared key" : `, ${each}`;
  const among = near ? `the last ${window}` : `the first ${num_first}, which are kept`;
  return `Yes: ${who} can attend to “${token}”${how}.${window ? ` It is among ${among}.` : ""}`;
}
