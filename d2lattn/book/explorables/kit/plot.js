import { h, larger, onWidth, s } from "./elements.js";
import { fixed } from "./numbers.js";

/** @typedef {ReturnType<typeof plot>} Plot */

/**
 * Round numbers to write on an axis.
 * @param {number} low
 * @param {number} high
 */
export function ticks(low, high, n = 6) {
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((k) => k * power >= rough) ?? 10);
  const first = Math.ceil(low / step);
  const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/**
 * A pair of axes in pixels: { el, svg, data, X, Y, unX, unY, width(), limits(x, y), path }.
 * Draw into .data after calling limits([low, high], [low, high]); onresize asks for a redraw.
 * @param {{
 *   label: string, height: number, xLabel?: string, yLabel?: string, pad?: number,
 *   onresize?: () => void,
 * }} spec
 */
export function plot({ label, height, xLabel, yLabel, onresize, pad: space = 44 }) {
  const zoom = larger();
  const pad = space * zoom;
  const axes = s("g", { "aria-hidden": "true" });
  const data = s("g");
  const svg = s("svg", { role: "group", "aria-label": label, height, width: 320 }, axes, data);
  const el = h("div", { class: "d2lx-plot" }, svg);
  const [right, top, bottom] = [12, 10, (xLabel ? 38 : 22) * zoom];
  let width = 320;
  let [x, y, drawn] = [[0, 1], [0, 1], ""];
  const across = () => width - pad - right;
  const up = height - top - bottom;
  const X = (/** @type {number} */ value) => pad + ((value - x[0]) / (x[1] - x[0])) * across();
  const Y = (/** @type {number} */ value) =>
    height - bottom - ((value - y[0]) / (y[1] - y[0])) * up;
  const unX = (/** @type {number} */ pixel) => x[0] + ((pixel - pad) / across()) * (x[1] - x[0]);
  const unY = (/** @type {number} */ pixel) =>
    y[0] + ((height - bottom - pixel) / up) * (y[1] - y[0]);
  const limits = (/** @type {number[]} */ nextX, /** @type {number[]} */ nextY) => {
    const signature = [width, ...nextX, ...nextY].join();
    if (signature === drawn) return;
    [x, y, drawn] = [nextX, nextY, signature];
    const text = (/** @type {Record<string, any>} */ values, /** @type {string} */ words) =>
      s("text", { class: "d2lx-tick", ...values }, words);
    const [foot, end] = [height - bottom, width - right];
    /** @type {SVGElement[]} */
    const parts = [s("path", { class: "d2lx-axis", d: `M${pad} ${top}V${foot}H${end}` })];
    const decimals = (/** @type {number[]} */ list) =>
      Math.max(...list.map((t) => (String(t).split(".")[1] ?? "").length), 0);
    const xs = ticks(x[0], x[1], width < 420 * zoom ? 4 : 8);
    const ys = yLabel ? ticks(y[0], y[1], Math.max(2, Math.floor(height / 45 / zoom))) : [];
    for (const t of xs)
      parts.push(
        text({ x: X(t), y: foot + 16 * zoom, "text-anchor": "middle" }, fixed(t, decimals(xs))),
      );
    for (const t of ys)
      parts.push(
        text({ x: pad - 6, y: Y(t) + 4 * zoom, "text-anchor": "end" }, fixed(t, decimals(ys))),
      );
    const middle = (top + foot) / 2;
    if (xLabel)
      parts.push(text({ x: (pad + end) / 2, y: height - 5, "text-anchor": "middle" }, xLabel));
    const turned = {
      transform: `translate(${12 * zoom} ${middle}) rotate(-90)`,
      "text-anchor": "middle",
    };
    if (yLabel) parts.push(text(turned, yLabel));
    axes.replaceChildren(...parts);
  };
  /**
   * A line through points [[x, y], …] in the units of the axes; it breaks where y is NaN.
   * @param {Element} element
   * @param {number[][]} points
   */
  const path = (element, points) => {
    let pen = "M";
    let d = "";
    for (const [px, py] of points) {
      if (Number.isFinite(py)) d += `${pen}${X(px).toFixed(1)} ${Y(py).toFixed(1)}`;
      pen = Number.isFinite(py) ? "L" : "M";
    }
    element.setAttribute("d", d);
  };
  onWidth(el, (now) => {
    width = now;
    svg.setAttribute("width", String(width));
    onresize?.();
  });
  return { el, svg, data, X, Y, unX, unY, limits, path, width: () => width };
}
