import palette from "../../palette.json" with { type: "json" };
import { clamp } from "./arithmetic.js";

/** Red, green and blue of a colour as in palette.json. @param {string} colour */
const rgb = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

const [PAPER, INK] = [palette.paper, palette.ink].map(([light]) => rgb(light));

/**
 * The ink of a value from 0 to 1 for a canvas, as [red, green, blue] of the light page; the style
 * sheet turns canvases over in the dark.
 * @param {number} value
 */
export const inkRgb = (value) =>
  PAPER.map((from, i) => Math.round(from + (INK[i] - from) * clamp(value, 0, 1)));

/** The same as attributes of an SVG shape. @param {number} value */
export const inked = (value) => ({ fill: "var(--d2lx-ink)", "fill-opacity": clamp(value, 0, 1) });

/** What can be read on it. @param {number} value */
export const inkOn = (value) => `var(--d2lx-${value > 0.5 ? "paper" : "ink"})`;
