// The heads as small maps to choose from, and what the residual stream holds at one place.
import { attr, fixed, h, inkRgb, show } from "../kit/index.js";

// Of a small map: how many cells fit, and how wide it is.
const [PIXELS, SIDE] = [15, 56];
// Once, and not for each of a thousand cells.
const COLOURS = Uint32Array.from({ length: 256 }, (_, i) => {
  const [red, green, blue] = inkRgb(i / 255);
  return (255 << 24) | (blue << 16) | (green << 8) | red;
});

/** @param {number} layer @param {number} head @param {() => void} onclick */
function thumb(layer, head, onclick) {
  // Always of one size, of which the map fills a corner: a new size would cost as much as all else.
  const canvas = h("canvas", { "aria-hidden": "true", width: PIXELS, height: PIXELS });
  const picture = h("span", {}, canvas);
  const data = h("data", { "data-name": `share-${layer}-${head}` });
  const el = h("button", { type: "button", onclick }, picture, data);
  const set = (/** @type {number[][]} */ matrix, /** @type {number} */ share) => {
    const context = canvas.getContext("2d");
    const image = context?.createImageData(matrix.length, matrix.length);
    if (!context || !image) return;
    const cells = new Uint32Array(image.data.buffer);
    matrix.flat().forEach((x, i) => {
      cells[i] = COLOURS[Math.min(255, Math.floor(x * 256))];
    });
    context.putImageData(image, 0, 0);
    canvas.style.width = `${(SIDE * PIXELS) / matrix.length}px`;
    show(data, share);
    const name = `Layer ${layer + 1}, head ${head + 1}`;
    attr(el, { "aria-label": `${name}: weight ${fixed(share)} on the letter to be predicted` });
  };
  return { el, set };
}

/**
 * { el, set(weights, shares), choose(layer, head) }: a button a head, with its map and its share of
 * weight on the letter that should be written next.
 * @param {number} layers @param {number} count @param {(layer: number, head: number) => void} onpick
 */
export function headButtons(layers, count, onpick) {
  const all = Array.from({ length: layers }, (_, i) =>
    Array.from({ length: count }, (_, k) => thumb(i, k, () => onpick(i, k))),
  );
  const rows = all.map((row, i) => {
    const name = h("th", { scope: "row" }, `Layer ${i + 1}`);
    return h("tr", {}, name, ...row.map((one) => h("td", {}, one.el)));
  });
  const el = h("table", { class: "d2lx-xray-heads" }, h("tbody", {}, ...rows));
  const each = (/** @type {(one: any, i: number, k: number) => void} */ act) =>
    all.forEach((row, i) => {
      row.forEach((one, k) => act(one, i, k));
    });
  const set = (/** @type {number[][][][]} */ weights, /** @type {number[][]} */ shares) =>
    each((one, i, k) => one.set(weights[i][k], shares[i][k]));
  const choose = (/** @type {number} */ layer, /** @type {number} */ head) =>
    each((one, i, k) => attr(one.el, { "aria-pressed": `${i === layer && k === head}` }));
  return { el, set, choose };
}

/**
 * { el, set(steps, place) }: how long a vector each part adds at a place, and how long the vector
 * there is afterwards, all on one scale.
 * @param {string[]} names of the parts
 */
export function stream(names) {
  const kinds = /** @type {const} */ (["adds", "holds"]);
  const rows = names.map((name, i) => {
    const cells = kinds.map((kind) => {
      const data = h("data", { "data-name": `${kind}-${i}` });
      const fill = h("span", { class: kind === "adds" ? "d2lx-xray-adds" : "" });
      return { data, fill, el: h("td", {}, data, h("span", { class: "d2lx-track" }, fill)) };
    });
    const el = h("tr", {}, h("th", { scope: "row" }, name), ...cells.map((cell) => cell.el));
    return { cells, el };
  });
  const top = ["", "added", "sum"].map((text) =>
    text ? h("th", { scope: "col" }, text) : h("td"),
  );
  const el = h(
    "table",
    { class: "d2lx-xray-stream" },
    h("thead", {}, h("tr", {}, ...top)),
    h("tbody", {}, ...rows.map((row) => row.el)),
  );
  const set = (
    /** @type {{ adds: number[], holds: number[] }[]} */ steps,
    /** @type {number} */ place,
  ) => {
    const found = steps.map((step) => kinds.map((kind) => step[kind][place]));
    const most = Math.max(...found.flat());
    found.forEach((pair, i) => {
      rows[i].cells.forEach(({ data, fill }, k) => {
        if (data.value !== String(pair[k])) show(data, pair[k]);
        fill.style.width = `${(100 * pair[k]) / most}%`;
      });
    });
  };
  return { el, set };
}
