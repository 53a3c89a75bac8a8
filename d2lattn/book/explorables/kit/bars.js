import { clamp } from "./arithmetic.js";
import { clip, h } from "./elements.js";
import { show } from "./numbers.js";

/**
 * Horizontal bars from 0 to 1 with labels and numbers: { el, set(values, names?) }.
 * @param {{ label: string, digits?: number }} spec
 */
export function bars({ label, digits = 3 }) {
  const el = h("div", { class: "d2lx-bars", role: "list", "aria-label": label });
  /** @type {{ fill: HTMLElement, data: HTMLElement, el: HTMLElement }[]} */
  let rows = [];
  /** @type {string[]} */
  let drawn = [];
  const set = (/** @type {number[]} */ values, names = drawn) => {
    if (names !== drawn) {
      rows = names.map((name, i) => {
        const fill = h("span", { class: "d2lx-fill" });
        const data = h("data", { "data-name": `bar-${i}` });
        const title = h("span", { class: "d2lx-name", dir: "auto", title: clip(name, 200) });
        title.append(clip(name, 24));
        const track = h("span", { class: "d2lx-track" }, fill);
        return { fill, data, el: h("div", { role: "listitem" }, title, track, data) };
      });
      el.replaceChildren(...rows.map((row) => row.el));
      drawn = names;
    }
    values.forEach((value, i) => {
      rows[i].fill.style.width = `${100 * clamp(value, 0, 1)}%`;
      show(rows[i].data, value, digits);
    });
  };
  return { el, set };
}
