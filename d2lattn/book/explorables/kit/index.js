// All that an explorable may import. Only what it uses enters its bundle.
export * from "./arithmetic.js";
export * from "./bars.js";
export * from "./controls.js";
export * from "./drag.js";
export * from "./elements.js";
export * from "./heatmap.js";
export * from "./ink.js";
export * from "./knobs.js";
export * from "./life.js";
export * from "./many.js";
export * from "./more.js";
export * from "./numbers.js";
export * from "./plot.js";
export * from "./predict.js";
export { keeping, oneOf, whole, within } from "./share.js";
export * from "./words.js";
