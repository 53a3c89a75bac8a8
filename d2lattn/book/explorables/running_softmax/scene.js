// The keys in a row, each a bar as high as its score, and the bracket that moves over them.
import { attr, draggable, h, larger, onWidth, s } from "../kit/index.js";
import { power, written } from "./arithmetic.js";

export const HIGH = 5;

/**
 * { el, set(state, tile) }: the keys from tile.first to tile.last are read now, those before are
 * forgotten. onmove(i, score): the reader moves a bar.
 * @param {number[]} values
 * @param {(i: number, score: number) => void} onmove
 * @param {() => void} onresize
 */
export function scene(values, onmove, onresize) {
  const zoom = larger();
  const [top, up, left] = [26 * zoom, 110, 54 * zoom];
  const foot = top + up;
  let width = 320;
  const across = () => (width - left) / values.length;
  const axes = /** @type {any} */ ({
    svg: s("svg", { role: "group", "aria-label": "Scores of the keys" }),
    X: (/** @type {number} */ i) => left + (i + 0.5) * across(),
    Y: (/** @type {number} */ score) => foot - (score / HIGH) * up,
    unX: (/** @type {number} */ x) => (x - left) / across() - 0.5,
    unY: (/** @type {number} */ y) => ((foot - y) / up) * HIGH,
  });
  const text = (/** @type {Record<string, any>} */ look, words = "") =>
    s("text", { class: "d2lx-tick", "aria-hidden": "true", ...look }, words);
  const row = (/** @type {number} */ k) => foot + (16 + 17 * k) * zoom;
  const names = ["score", "value", "power"].map((name, k) =>
    text({ x: 0, y: k ? row(k) : top + up / 2 }, name),
  );
  const bracket = s("path", { fill: "none", stroke: "var(--d2lx-ink)", "stroke-width": 2.5 });
  const slide = s("g", { class: "d2lx-slide" }, bracket);
  const keys = values.map((value, i) => {
    const middle = { "text-anchor": "middle" };
    const bar = s("rect", { class: "d2lx-key" });
    const score = text({ ...middle, class: "d2lx-amount" });
    const one = text({ ...middle, class: "d2lx-amount", y: row(2) });
    const shown = text({ ...middle, y: row(1), style: "fill:var(--d2lx-green)" }, written(value));
    const grip = s("path", { d: "M-9 0H9", stroke: "var(--d2lx-ink)", "stroke-width": 4 });
    const handle = draggable(axes, grip, {
      label: `Score of key ${i + 1}`,
      step: () => [0, 1],
      onmove: (_, y) => onmove(i, Math.max(0, Math.min(HIGH, Math.round(y)))),
    });
    return { bar, score, one, shown, handle };
  });
  axes.svg.append(
    ...names,
    s("g", {}, slide),
    ...keys.flatMap((key) => [key.bar, key.score, key.shown, key.one]),
    s("g", {}, ...keys.map((key) => key.handle.el)),
  );
  const el = h("div", { class: "d2lx-plot d2lx-keys" }, axes.svg);
  onWidth(el, (now) => {
    width = now;
    onresize();
  });

  /**
   * @param {{ scores: number[], shift: number }} state
   * @param {import("./arithmetic.js").Kept} tile
   */
  const set = ({ scores, shift }, { first, last, powers }) => {
    attr(axes.svg, { width, height: row(2) + 6 * zoom });
    const wide = (last - first) * across();
    attr(bracket, { d: `M1 ${foot + 2}V${foot + 7}H${Math.max(1, wide - 1)}V${foot + 2}` });
    slide.style.transform = `translateX(${left + first * across()}px)`;
    slide.style.visibility = last ? "" : "hidden";
    keys.forEach((key, i) => {
      const [x, y, bar] = [axes.X(i), axes.Y(scores[i]), Math.min(34, 0.6 * across())];
      const when = i >= last ? "later" : i >= first ? "now" : "past";
      attr(key.bar, { x: x - bar / 2, y, width: bar, height: foot - y, "data-when": when });
      attr(key.score, { x, y: y - 8 }).textContent = written(scores[i] + shift);
      attr(key.shown, { x });
      attr(key.one, { x }).textContent = when === "now" ? power(powers[i - first]) : "";
      const said = { later: "not read yet", now: "read now", past: "read and forgotten" }[when];
      key.handle.place(i, scores[i], `${written(scores[i] + shift)}, ${said}`, [0, HIGH]);
      // What moves is the height; what the kit takes for it is the place in the row.
      attr(key.handle.el, { "aria-valuenow": scores[i] });
    });
  };
  return { el, set };
}
