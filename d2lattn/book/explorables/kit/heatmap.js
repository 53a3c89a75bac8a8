import { clamp } from "./arithmetic.js";
import { attr, clip, freshId, h, larger, onKeys, onWidth, s } from "./elements.js";
import { inked, inkOn } from "./ink.js";
import { announce } from "./life.js";
import { fixed } from "./numbers.js";

/**
 * @typedef {{ x: number, y: number, width: number, height: number }} Box
 * @typedef {{
 *   rows?: string[], columns?: string[], row?: number,
 *   mask?: (i: number, j: number) => boolean,
 *   mark?: (i: number, j: number) => string,
 *   say?: (i: number, j: number) => string,
 *   over?: (layer: SVGElement, box: (i: number, j: number) => Box) => void,
 * }} Options
 */

// What a finger hits.
const FINGER = 24;

/**
 * A matrix of numbers from 0 to 1 in ink: { el, stage, set(matrix, options) }.
 *   rows, columns    labels; rowTitle and columnTitle say what they are
 *   labels           false leaves them out of the picture, not out of what is said
 *   cellHeight       in pixels; without it cells are square, at most maxCell wide
 *   onpick(i, j)     a click, Enter or space on a cell; such cells are never too small to hit
 *   set's options    rows, columns: new labels. mask(i, j): false hatches the cell.
 *                    mark(i, j): a word or character drawn in the cell. row: the row to frame.
 *                    say(i, j): more words for the line below. over(layer, box): draws above the
 *                    cells into an SVG group; box(i, j) is where a cell lies.
 *   many             onCanvas, where there may be over 400 cells
 * One tab stop; the arrow keys move a cursor, and the line below says what it is on.
 * @param {{
 *   label: string, rows: string[], columns: string[], rowTitle?: string, columnTitle?: string,
 *   digits?: number, cellHeight?: number | null, maxCell?: number, labels?: boolean,
 *   onpick?: ((i: number, j: number) => void) | null, many?: typeof import("./many.js").onCanvas,
 * }} spec
 */
export function heatmap(spec) {
  const { label, rowTitle = "row", columnTitle = "column", digits = 2, onpick = null, many } = spec;
  const { cellHeight = null, maxCell = 44, labels = true } = spec;
  let { rows, columns } = spec;
  let [n, m, left, top, w, tall] = [0, 0, 0, 0, 0, 0];
  /** @type {number[][] | null} */
  let matrix = null;
  /** @type {number[][] | null} */
  let drawn = null;
  /** @type {Options} */
  let options = {};
  let [width, built] = [320, ""];
  let [ci, cj, zoom] = [0, 0, 1];
  /** @type {[SVGRectElement, SVGTextElement][]} */
  let cells = [];
  /** @type {ReturnType<typeof import("./many.js").onCanvas> | null} */
  let canvas = null;
  const hatch = freshId();
  const stage = h("div", {
    class: "d2lx-stage",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "heatmap",
  });
  const line = h("p", { class: "d2lx-cell" });
  const el = h("div", {}, stage, line);
  const [frame, layer] = [s("rect", { class: "d2lx-frame" }), s("g")];
  // A dark line on a light one: seen on every cell, and on the paper.
  const edges = [s("rect", { class: "d2lx-halo" }), s("rect", { class: "d2lx-edge" })];
  const pointer = s("g", { class: "d2lx-cursor" }, ...edges);
  const visible = (/** @type {number} */ i, /** @type {number} */ j) =>
    options.mask?.(i, j) ?? true;
  const box = (/** @type {number} */ i, /** @type {number} */ j, span = 1) => ({
    x: left + j * w,
    y: top + i * tall,
    width: w * span,
    height: tall,
  });
  // Isolated, so that a right-to-left label does not turn the sentence around.
  const spoken = (/** @type {string[]} */ names, /** @type {number} */ i) =>
    `\u2068${clip(names[i] || i + 1, 40)}\u2069`;

  function go(/** @type {number} */ i, /** @type {number} */ j) {
    [ci, cj] = [clamp(i, 0, n - 1), clamp(j, 0, m - 1)];
    const value = visible(ci, cj) ? fixed(matrix?.[ci][cj] ?? 0, Math.max(3, digits)) : "masked";
    const mark = options.mark?.(ci, cj);
    const more = [mark && `marked ${mark}`, options.say?.(ci, cj)].filter(Boolean);
    const place = `${rowTitle} ${spoken(rows, ci)}, ${columnTitle} ${spoken(columns, cj)}`;
    line.textContent = [`${place}: ${value}`, ...more].join(", ");
    for (const edge of edges) attr(edge, box(ci, cj));
  }

  function build() {
    [n, m] = [rows.length, columns.length];
    const longest = (/** @type {string[]} */ names) =>
      labels ? Math.max(...names.map((name) => clip(name).length)) : 0;
    zoom = larger();
    const letter = 7.5 * zoom;
    left = Math.min(longest(rows) * letter + 8 * Number(labels), width * 0.4) + 1;
    w = Math.min((width - left - 1) / m, cellHeight ? Infinity : maxCell * zoom);
    if (onpick) w = Math.max(w, FINGER);
    tall = cellHeight ? cellHeight * zoom : w;
    // Labels that are too long for a column stand upright; where even that is too tight, none do.
    const upright = longest(columns) * letter > w;
    const named = labels && (!upright || w >= 11 * zoom);
    top = !named ? 1 : upright ? longest(columns) * 7 * zoom + 10 : 20 * zoom;
    const size = { width: left + m * w + 1, height: top + n * tall + 1 };
    const svg = s("svg", { ...size, "aria-hidden": "true" });
    svg.append(
      s(
        "pattern",
        { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
        s("rect", { width: 6, height: 6, class: "d2lx-masked" }),
        s("path", { d: "M0 6L6 0", class: "d2lx-hatch" }),
      ),
    );
    const write = (/** @type {string} */ name, /** @type {Record<string, any>} */ values) =>
      svg.append(s("text", { ...values, class: "d2lx-tick" }, clip(name)));
    if (labels)
      rows.forEach((name, i) => {
        write(name, { x: left - 6, y: top + (i + 0.5) * tall + 4 * zoom, "text-anchor": "end" });
      });
    if (named)
      columns.forEach((name, j) => {
        const x = left + (j + 0.5) * w;
        if (upright)
          write(name, { transform: `translate(${x + 4 * zoom} ${top - 5}) rotate(-90)` });
        else write(name, { x, y: top - 6, "text-anchor": "middle" });
      });
    [cells, canvas] = [[], null];
    if (many && n * m > 400) canvas = many(box(0, 0), n, m);
    else
      for (let k = 0; k < n * m; k++) {
        const place = box(Math.floor(k / m), k % m);
        const text = s("text", {
          x: place.x + w / 2,
          y: place.y + tall / 2 + 4 * zoom,
          "text-anchor": "middle",
          class: "d2lx-number",
        });
        cells.push([s("rect", place), text]);
        svg.append(...cells[k]);
      }
    const around = { x: left, y: top, width: m * w, height: n * tall, class: "d2lx-axis" };
    svg.append(s("rect", around), frame, layer, pointer);
    stage.replaceChildren(...(canvas ? [canvas.el, svg] : [svg]));
    const hint = onpick ? ", Enter marks one." : ".";
    const count = `${n} rows, ${m} columns. Arrow keys go from cell to cell`;
    attr(stage, { "aria-label": `${label}: ${count}${hint}` });
  }

  function draw() {
    if (!matrix) return;
    const signature = JSON.stringify([width, rows, columns]);
    const still = signature === built && matrix === drawn && !options.mask && !options.mark;
    if (signature !== built) build();
    [built, drawn] = [signature, matrix];
    const printed = w >= (8 * digits + 18) * zoom && tall >= 18 * zoom;
    for (let k = still ? n * m : 0; k < n * m; k++) {
      const [i, j] = [Math.floor(k / m), k % m];
      const [value, shown] = [matrix[i][j], visible(i, j)];
      const mark = options.mark?.(i, j) ?? "";
      const ink = inkOn(shown ? value : 0);
      if (canvas) canvas.paint(i, j, value, shown, mark);
      else {
        const [rect, text] = cells[k];
        const fill = shown ? inked(value) : { fill: `url(#${hatch})`, "fill-opacity": 1 };
        attr(rect, { ...fill, "data-value": shown ? value : "masked" });
        const written = mark || (printed && shown ? fixed(value, digits) : "");
        attr(text, { fill: ink });
        if (text.textContent !== written) text.textContent = written;
      }
    }
    attr(frame, box(options.row ?? 0, 0, options.row === undefined ? 0 : m));
    options.over?.(layer, box);
    go(ci, cj);
  }

  // After the next drawing, which a pick may bring about.
  const tell = () =>
    requestAnimationFrame(() => {
      announce(stage, line.textContent ?? "", "cell");
    });
  onKeys(stage, (key) => {
    /** @type {Record<string, [number, number]>} */
    const steps = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      Home: [0, -m],
      End: [0, m],
    };
    const step = steps[key];
    const pick = onpick && (key === "Enter" || key === " ");
    if (!step && !pick) return;
    if (pick) onpick(ci, cj);
    else go(ci + step[0], cj + step[1]);
    const { x } = box(ci, cj);
    stage.scrollLeft = clamp(stage.scrollLeft, x + w - stage.clientWidth, Math.max(0, x - w));
    tell();
    return true;
  });
  const point = (/** @type {MouseEvent} */ event) => {
    const area = stage.getBoundingClientRect();
    const i = Math.floor((event.clientY - area.top - top) / tall);
    const j = Math.floor((event.clientX - area.left + stage.scrollLeft - left) / w);
    if (i < 0 || j < 0 || i >= n || j >= m) return;
    go(i, j);
    if (event.type === "click") onpick?.(i, j);
  };
  attr(stage, { onpointermove: point, onclick: point });
  onWidth(el, (now) => {
    width = now;
    draw();
  });
  const set = (/** @type {number[][]} */ next, /** @type {Options} */ nextOptions = {}) => {
    [matrix, options] = [next, nextOptions];
    rows = options.rows ?? rows;
    columns = options.columns ?? columns;
    draw();
  };
  return { el, stage, set };
}
