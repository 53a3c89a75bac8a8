// The map: the encoder's states above the decoder's step; what a picture is about is lit.
import { attr, clip, fixed, h, inked, larger, onWidth, s } from "../kit/index.js";
import { indexed } from "./steps.js";

const [BOX, FAN] = [26, 58];

/**
 * { el, set(now, picture, film) }: now is what compute gives; without the film, the looks alone.
 * @param {string[]} source
 * @param {() => void} onresize
 */
export function map(source, onresize) {
  const el = h("div", {});
  let [width, zoom] = [320, 1];
  onWidth(el, (now) => {
    // The drawing grows with its letters: it is laid out as on a narrower page.
    zoom = larger();
    width = now / zoom;
    onresize();
  });

  /** What is lit in which picture; drawn anew for another word only. @type {[Element, number, number][]} */
  let parts = [];
  let built = "";
  /** What each line of the fan carries: its score, and then its weight. @type {Element[]} */
  let numbers = [];

  /**
   * @param {ReturnType<typeof import("./steps.js").compute>} now
   * @param {boolean} film
   */
  function build(now, film) {
    const svg = s("svg", { class: "d2lx-map", "aria-hidden": "true" });
    parts = [];
    // Each part comes with a picture, first, and is lit in one.
    const add = (/** @type {any} */ tag, /** @type {any} */ values, first = 0, lit = first) => {
      const element = svg.appendChild(s(tag, values));
      parts.push([element, first, lit]);
      return element;
    };
    /** @type {(text: string, first: number, values: Record<string, any>, lit?: number) => void} */
    const write = (text, first, values, lit = first) => {
      add("text", { "text-anchor": "middle", ...values }, first, lit).textContent = text;
    };
    /** @type {(text: string, first: number, x: number, y: number, wide?: number, lit?: number) => void} */
    const box = (text, first, x, y, wide = 44, lit = first) => {
      const place = { x: x - wide / 2, y: y - BOX / 2, width: wide, height: BOX, rx: 4 };
      add("rect", place, first, lit);
      write(text, first, { x, y: y + 4 }, lit);
    };
    // The head of an arrow is a path of its own: markers do not follow the theme.
    /** @type {(first: number, from: [number, number], to: [number, number], lit?: number) => void} */
    const arrow = (first, [x1, y1], [x2, y2], lit = first) => {
      const turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
      add("path", { d: `M${x1} ${y1}L${x2} ${y2}` }, first, lit);
      const head = `translate(${x2} ${y2}) rotate(${turn})`;
      add("path", { d: "M0 0L-7-4V4z", transform: head, "data-tip": true }, first, lit);
    };

    const each = width / source.length;
    const names = source.map((name) => clip(name, 10));
    const longest = Math.max(...names.map((name) => name.length));
    const upright = longest * 7.5 > each;
    const top = upright ? longest * 7.5 + 12 : 20;
    const side = Math.min(22, each - 4);
    const X = (/** @type {number} */ t) => (t + 0.5) * each;
    const under = top + side;
    const rowC = under + FAN + 14;
    const [rowJ, rowS, rowW] = [rowC + 48, rowC + 96, rowC + 138];
    const [left, middle, right] = [26, (film ? 0.56 : 0.5) * width, width - 50];
    // Between the line of the query and the box that it joins, an arrow's length away
    const wide = Math.min(72, middle - 46 - (left + 8));
    const [context, last] = [indexed("c", now.i + 1), clip(now.last, 9)];

    names.forEach((name, t) => {
      const turned = {
        "text-anchor": "start",
        transform: `translate(${X(t) + 4} ${top - 5}) rotate(-90)`,
      };
      write(name, 1, upright ? turned : { x: X(t), y: top - 6 });
      const square = { x: X(t) - side / 2, y: top, width: side, height: side };
      add("rect", square, 1);
      const weighed = { ...square, ...inked(now.weights[t]), "data-state": t };
      add("rect", { ...weighed, "data-late": true }, 4);
      // The question goes to all, the answer comes from each by its weight.
      if (film) add("path", { d: `M${left} ${rowC}L${X(t)} ${under + 2}`, "data-asked": t }, 3);
      const thick = `stroke-width:${(10 * now.weights[t]).toFixed(2)}px`;
      const flow = { d: `M${X(t)} ${under + 2}L${middle} ${rowC - 13}`, style: thick };
      add("path", { ...flow, "data-flow": t, "data-late": true }, 5);
    });
    // Above the lines; where words stand close, those alone that carry much.
    numbers = names.map((_, t) =>
      s("text", { x: X(t), y: under + 15, "text-anchor": "middle", "data-number": t }),
    );
    if (film) {
      add("path", { d: `M${left} ${rowS - BOX / 2}V${rowC}` }, 2);
      write("query", 2, { x: left + 8, y: rowC + 18, "text-anchor": "start" });
      arrow(6, [middle, rowC + 13], [middle, rowJ - BOX / 2 - 1]);
      box(context, 5, middle, rowC, 36);
      arrow(6, [middle - 46, rowJ], [middle - 33, rowJ]);
      box(last, 6, middle - 46 - wide / 2, rowJ, wide);
      box(`[${context}; y]`, 6, middle, rowJ, 64);
      arrow(7, [middle, rowJ + BOX / 2], [middle, rowS - BOX / 2 - 1]);
      arrow(7, [left + 22, rowS], [middle - 27, rowS]);
      arrow(7, [middle + 26, rowS], [right - 23, rowS]);
      box(indexed("s", now.i), 1, left, rowS, 44, 2);
      box("GRU", 7, middle, rowS, 52);
      box(indexed("s", now.i + 1), 7, right, rowS);
      arrow(1, [left, rowS + BOX / 2], [left, rowW - 12], 0);
      arrow(8, [right, rowS + BOX / 2], [right, rowW - 12]);
      write(last, 1, { x: Math.max(left, last.length * 3.8), y: rowW + 2 });
      write(clip(now.next, 12), 8, { x: right, y: rowW + 2 });
    } else box(clip(now.next, 12), 1, middle, rowC, 108, 0);
    const size = [width, (film ? rowW : rowC + BOX / 2) + 10];
    attr(svg, { viewBox: `0 0 ${size.join(" ")}`, width: width * zoom, height: size[1] * zoom });
    svg.append(...numbers);
    el.replaceChildren(svg);
  }

  /**
   * @param {ReturnType<typeof import("./steps.js").compute>} now
   * @param {number} picture
   * @param {boolean} film
   */
  function set(now, picture, film) {
    const signature = `${width} ${now.i} ${film}`;
    if (signature !== built) build(now, film);
    built = signature;
    for (const [element, first, lit] of parts) {
      // Dashed before it comes, and plain after it was lit.
      const when = picture < first ? "d2lx-ahead" : picture === lit ? "d2lx-lit" : "";
      element.setAttribute("class", when);
    }
    const room = width / source.length > 32;
    numbers.forEach((text, t) => {
      const said = picture === 3 ? fixed(now.scores[t], 1) : fixed(now.weights[t]);
      text.textContent = film && picture > 2 && (room || now.weights[t] >= 0.1) ? said : "";
    });
    attr(el, { class: picture > 4 ? "d2lx-answered" : null });
  }
  return { el, set };
}
