import { clamp } from "./arithmetic.js";

// As in palette.json, which a test compares: no weight, all weight.
const [WASH, WEIGHT] = [
  [246, 241, 230],
  [33, 30, 26],
];

/**
 * The ink of a value from 0 to 1 for a canvas, as [red, green, blue] of the light page; the style
 * sheet turns canvases over in the dark.
 * @param {number} value
 */
export const inkRgb = (value) =>
  WASH.map((from, i) => Math.round(from + (WEIGHT[i] - from) * clamp(value, 0, 1)));

/** The same as attributes of an SVG shape on a ground of wash. @param {number} value */
export const inked = (value) => ({
  fill: "var(--d2lx-weight)",
  "fill-opacity": clamp(value, 0, 1),
});

/**
 * What can be read on it in both themes: in between, the darker of ink and paper.
 * @param {number} value
 */
export const inkOn = (value) =>
  `var(--d2lx-${value > 0.55 ? "paper" : value > 0.4 ? "deep" : "ink"})`;
