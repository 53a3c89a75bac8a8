import { h } from "./elements.js";

const minus = (/** @type {string} */ text) => text.replaceAll("-", "−");

/** As text with a true minus sign; "−0.00" is "0.00". @param {number} x */
export function fixed(x, digits = 2) {
  if (Number.isNaN(x)) return "none";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const text = Math.abs(x) >= 1e6 ? x.toExponential(digits) : x.toFixed(digits);
  return minus(Number(text) === 0 ? text.replace("-", "") : text);
}

/**
 * The same for the parts of a formula: a number too small for its digits is written as a power of
 * ten, so that no sum or quotient on the page looks wrong. short(3.2e-9) is "3.20·10⁻⁹".
 * @param {number} x
 */
export function short(x, digits = 3) {
  if (!x || !Number.isFinite(x) || Math.abs(x) >= 10 ** (1 - digits)) return fixed(x, digits);
  const [front, power] = x.toExponential(digits - 1).split("e-");
  return `${minus(front)}·10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("")}`;
}

/**
 * A row of weights as it arrives: in ten-thousandths, where most are 0 as { place: weight }.
 * @param {Record<number, number>} row @param {number} n
 */
export const weightsOf = (row, n) => Array.from({ length: n }, (_, i) => (row[i] ?? 0) / 10000);

/**
 * Print a number in a <data> element, with all its digits in the value attribute.
 * @param {Element} element
 * @param {number} x
 */
export function show(element, x, digits = 2) {
  element.setAttribute("value", String(x));
  element.textContent = fixed(x, digits);
}

/**
 * A named read-out: { el, set(x) }. The name is what tests and styles find it by.
 * @param {string} label
 * @param {string} name
 */
export function readout(label, name, digits = 3) {
  const data = h("data", { "data-name": name });
  const el = h("div", { class: "d2lx-readout" }, h("span", {}, label), data);
  return { el, data, set: (/** @type {number} */ x, now = digits) => show(data, x, now) };
}
