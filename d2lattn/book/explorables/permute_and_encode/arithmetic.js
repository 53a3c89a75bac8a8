// Plain functions: the encoding of a place, self-attention, and what another order changes.
import { dot, softmax } from "../kit/arithmetic.js";

/**
 * @typedef {{
 *   tokens: string[], embeddings: number[][], W_q: number[][], W_k: number[][], W_v: number[][],
 *   order: number[], positions: boolean, word: number, clock?: boolean,
 * }} Sentence
 */

/** How fast each pair of entries turns, in radians a place. @param {number} width */
export const frequencies = (width) =>
  Array.from({ length: Math.ceil(width / 2) }, (_, j) => 10000 ** ((-2 * j) / width));

/** Entries 2j and 2j + 1 are sin(ωⱼ i) and cos(ωⱼ i). @param {number} i @param {number} width */
export const encoding = (i, width) =>
  frequencies(width)
    .flatMap((w) => [Math.sin(w * i), Math.cos(w * i)])
    .slice(0, width);

/**
 * A place as one hand in the last two entries: 2 long, an hour (30°) further at each place.
 * @param {number} i
 * @param {number} width
 */
export const hand = (i, width) =>
  Array.from({ length: width }, (_, k) =>
    k < width - 2 ? 0 : 2 * (k === width - 2 ? Math.sin : Math.cos)((Math.PI / 6) * i),
  );

/**
 * Each hand (sin, cos) turned by its frequency times the offset, whatever place it is at.
 * @param {number[]} p
 * @param {number} offset
 */
export const turned = (p, offset) =>
  frequencies(p.length).flatMap((w, j) => {
    const [sin, cos] = [Math.sin(w * offset), Math.cos(w * offset)];
    return [p[2 * j] * cos + p[2 * j + 1] * sin, p[2 * j + 1] * cos - p[2 * j] * sin];
  });

/**
 * p(i)·p(i + offset) over the hands that are on.
 * @param {number} i
 * @param {number} offset
 * @param {boolean[]} on
 */
export function product(i, offset, on) {
  const [here, there] = [i, i + offset].map((place) => encoding(place, 2 * on.length));
  return dot(
    here.map((x, k) => (on[k >> 1] ? x : 0)),
    there,
  );
}

/**
 * Rows of X ask each other: { weights (n, n), outputs (n, m) }. The matrices are as in nn.Linear:
 * q = W_q x.
 * @param {number[][]} X
 * @param {Pick<Sentence, "W_q" | "W_k" | "W_v">} matrices
 */
export function selfAttention(X, { W_q, W_k, W_v }) {
  const [queries, keys, values] = [W_q, W_k, W_v].map((W) =>
    X.map((x) => W.map((row) => dot(row, x))),
  );
  const weights = queries.map((q) => softmax(keys.map((k) => dot(q, k) / Math.sqrt(k.length))));
  const outputs = weights.map((row) =>
    W_v.map((_, k) =>
      dot(
        row,
        values.map((v) => v[k]),
      ),
    ),
  );
  return { weights, outputs };
}

/** The order itself, or the first one where a link gives places twice. @param {number[]} order */
export const permutation = (order) =>
  new Set(order).size === order.length ? order : order.map((_, place) => place);

/** @param {number[]} order @param {number} t @param {number} place */
export function moved(order, t, place) {
  const next = order.filter((one) => one !== t);
  next.splice(place, 0, t);
  return next;
}

/**
 * The words in the first order and in this one. first and now: outputs by word; changes: how far
 * apart these two are; places: where each word stands; weights: rows and columns in this order;
 * still: this is the first order.
 * @param {Sentence} sentence
 */
export function compare(sentence) {
  const order = permutation(sentence.order);
  const run = (/** @type {number[]} */ words) =>
    selfAttention(
      words.map((t, place) => {
        const x = sentence.embeddings[t];
        const p = (sentence.clock ? hand : encoding)(place, x.length);
        return sentence.positions ? x.map((entry, k) => entry + p[k]) : x;
      }),
      sentence,
    );
  const places = order.map((_, t) => order.indexOf(t));
  const { weights, outputs } = run(order);
  const first = run(order.map((_, t) => t)).outputs;
  const now = places.map((place) => outputs[place]);
  const changes = now.map((row, t) => Math.hypot(...row.map((y, k) => y - first[t][k])));
  const still = order.every((t, place) => t === place);
  return { order, places, weights, first, now, changes, still };
}
