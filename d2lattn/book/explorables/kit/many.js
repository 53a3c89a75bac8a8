// More cells than SVG can draw in a frame; only a figure that may have so many brings this along.
import { h } from "./elements.js";
import { inkRgb } from "./ink.js";

/**
 * Draws a heatmap's cells on a canvas: { el, paint(i, j, value, shown, mark) }.
 * @param {{ x: number, y: number, width: number, height: number }} first the box of the first cell
 * @param {number} n rows @param {number} m columns
 */
export function onCanvas({ x, y, width, height }, n, m) {
  const el = h("canvas", { width: 2 * m * width, height: 2 * n * height });
  el.style.cssText = `left:${x}px;top:${y}px;width:${m * width}px;height:${n * height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (el.getContext("2d"));
  /** @type {(i: number, j: number, value: number, shown: boolean, mark: string) => void} */
  const paint = (i, j, value, shown, mark) => {
    context.fillStyle = `rgb(${inkRgb(shown ? value : 0)})`;
    context.fillRect(2 * j * width, 2 * i * height, 2 * width + 1, 2 * height + 1);
    context.fillStyle = value > 0.5 && shown ? "#fff" : "#000";
    context.font = `${1.6 * Math.min(width, height)}px sans-serif`;
    if (mark || !shown)
      context.fillText(mark || "╱", (2 * j + 0.5) * width, (2 * i + 1.6) * height);
  };
  return { el, paint };
}
