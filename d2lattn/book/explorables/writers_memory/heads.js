// The heads that ask a token, and the heads of keys and values that they share.
import { attr, h, s } from "../kit/index.js";

/** A drawing: { el, set(many, few, can) }: queries, keys, and whether they can be asked. */
export function sharing() {
  const [lines, queries, keys, values] = [
    s("path", { class: "d2lx-ask" }),
    s("path", { class: "d2lx-q" }),
    s("path", { class: "d2lx-k" }),
    s("path", { class: "d2lx-v" }),
  ];
  const svg = s("svg", { viewBox: "0 16 140 88", "aria-hidden": "true" });
  svg.append(lines, queries, keys, values);
  const names = h("div", {}, ...["q", "k", "v"].map((name) => h("span", {}, name)));
  const el = h("div", { "aria-hidden": "true" }, names, svg);
  /** @type {(many: number, few: number, can: boolean) => void} */
  const set = (many, few, can) => {
    const at = (/** @type {number} */ i, /** @type {number} */ n) => 20 + ((i + 0.5) * 80) / n;
    const all = (/** @type {number} */ n, /** @type {(y: number, i: number) => string} */ one) =>
      Array.from({ length: n }, (_, i) => one(at(i, n), i)).join("");
    const r = Math.max(1.2, Math.min(5, 30 / few));
    attr(queries, {
      d: all(many, (y) => `M10 ${y}h.01`),
      "stroke-width": Math.max(2, Math.min(8, 56 / many)),
    });
    attr(keys, { d: all(few, (y) => `M${100 - r} ${y}l${r} ${-r}l${r} ${r}l${-r} ${r}z`) });
    attr(values, { d: all(few, (y) => `M116 ${y - 0.8 * r}h${1.6 * r}v${1.6 * r}h${-1.6 * r}z`) });
    const shared = (/** @type {number} */ i) => at(Math.floor((i * few) / many), few);
    attr(lines, {
      d: can ? all(many, (y, i) => `M16 ${y}L${92 - r / 2} ${shared(i)}`) : "",
      "stroke-width": Math.min(1.5, 40 / many),
    });
    attr(el, { class: can ? "d2lx-heads" : "d2lx-heads d2lx-lost" });
  };
  return { el, set };
}
