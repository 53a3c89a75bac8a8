// Output rows of the first order and of this one, each tied to its own by a line.
import { attr, clamp, clip, fixed, h, onWidth, pool, s, show } from "../kit/index.js";

const [ROW, GAP, HEAD] = [28, 3, 18];

// Only what is new: the browser lays every text out again that is set.
const write = (/** @type {Element} */ element, /** @type {string} */ text) =>
  element.textContent === text || element.replaceChildren(text);

/** What is less than this is rounding. */
export const SAME = 1e-9;

/**
 * { el, set(found, word) }: found as compare() gives it, word the one to mark.
 * @param {string[]} names
 * @param {number} size how many numbers a row has
 * @param {() => void} onresize
 */
export function outputRows(names, size, onresize) {
  const n = names.length;
  const tall = HEAD + n * ROW;
  const svg = s("svg", { height: tall, width: 240, "aria-hidden": "true" });
  const stage = h("div", {}, svg);
  const head = h("div", {}, "change");
  const list = h("div", { role: "list", "aria-label": "Changes" });
  const items = names.map(() => {
    const [name, data] = [h("span", { class: "d2lx-quiet" }), h("data")];
    list.append(h("div", { role: "listitem" }, name, data));
    return { name, data };
  });
  const aside = h("div", {}, head, list);
  const el = h("div", { class: "d2lx-moved" }, stage, aside);
  const titles = pool(svg, "text", { y: 11, class: "d2lx-tick" })(2);
  const links = pool(svg, "path", { fill: "none" })(n);
  const labels = pool(svg, "text", { class: "d2lx-tick" })(2 * n);
  const cells = pool(svg, "rect", { stroke: "var(--d2lx-line)" })(2 * n * size);
  const numbers = pool(svg, "text", { class: "d2lx-number", "text-anchor": "middle" })(
    2 * n * size,
  );
  let width = 240;
  onWidth(stage, (now) => {
    width = now;
    svg.setAttribute("width", String(width));
    onresize();
  });

  /** @param {ReturnType<typeof import("./arithmetic.js").compare>} found @param {number} word */
  function set({ order, places, first, now, changes, still }, word) {
    const letters = width < 320 ? 7 : 12;
    const side = 8 + 7 * Math.max(...names.map((name) => clip(name, letters).length));
    const between = width < 320 ? 22 : 44;
    const cell = clamp((width - 2 * side - between) / 2 / size, 8, 44);
    const [left, right] = [side, width - side - size * cell];
    // In the first order nothing is to be compared: the answers stand alone.
    attr(svg, { width: still ? left + size * cell + 1 : width });
    attr(aside, { style: still && "opacity:0" });
    const most = Math.max(1, ...first.flat().map(Math.abs), ...now.flat().map(Math.abs));
    write(titles[0], "first order");
    write(attr(titles[1], { x: width, "text-anchor": "end" }), "this order");
    names.forEach((name, t) => {
      const ends = [t, places[t]].map((place) => HEAD + (place + 0.5) * ROW);
      const same = changes[t] < SAME;
      // Where numbers stand in the cells, the picked word alone has a colour.
      const lit = t === word || cell <= 36 ? 0.45 / most : 0;
      const [from, to] = [left + size * cell + 3, right - 3];
      const middle = (from + to) / 2;
      attr(links[t], {
        d: `M${from} ${ends[0]}C${middle} ${ends[0]} ${middle} ${ends[1]} ${to} ${ends[1]}`,
        stroke: `var(--d2lx-${same ? "blue" : "orange"})`,
        "stroke-width": t === word ? 4 : 2,
        "stroke-dasharray": same ? null : "5 4",
      });
      [first[t], now[t]].forEach((row, half) => {
        const label = attr(labels[2 * t + half], {
          x: half ? width : 0,
          y: ends[half] + 4,
          "text-anchor": half ? "end" : "start",
          "font-weight": t === word ? 700 : 400,
        });
        write(label, clip(name, letters));
        row.forEach((y, k) => {
          const index = (2 * t + half) * size + k;
          const x = (half ? right : left) + k * cell;
          attr(cells[index], {
            ...{ x, width: cell, y: ends[half] - ROW / 2 + GAP, height: ROW - 2 * GAP },
            fill: `var(--d2lx-${y < 0 ? "orange" : "blue"})`,
            "fill-opacity": lit * Math.abs(y),
            "data-output": y,
          });
          const number = attr(numbers[index], { x: x + cell / 2, y: ends[half] + 4 });
          write(number, cell > 36 ? fixed(y) : "");
        });
      });
    });
    order.forEach((t, place) => {
      items[place].name.textContent = `${names[t]}: `;
      attr(items[place].data, { "data-name": `change-${t}` });
      show(items[place].data, changes[t], 2);
      if (changes[t] < SAME) items[place].data.textContent = "same";
    });
  }
  return { el, set };
}
