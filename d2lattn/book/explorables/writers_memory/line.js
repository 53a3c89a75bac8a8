// A line of tokens with what is kept of each above it; one of them is picked.
import { attr, clip, h, onSteps, s } from "../kit/index.js";
import { asking } from "./arithmetic.js";

const TALL = 40;

/**
 * { el, set(state) }. The line is one stop, a slider whose value is the place of the token that is
 * asked; onpick gets a place that may lie outside.
 * @param {string[]} tokens @param {() => number} asked @param {(place: number) => void} onpick
 */
export function textLine(tokens, asked, onpick) {
  const cells = tokens.map((token, j) => {
    const stack = s("path", { "stroke-width": 14 });
    const svg = s("svg", { viewBox: `0 0 16 ${TALL}`, "aria-hidden": "true" }, stack);
    const el = h("span", { onclick: () => onpick(j) }, svg, h("bdi", {}, clip(token, 12)));
    return { el, stack };
  });
  const el = h("div", { class: "d2lx-text", role: "slider", tabindex: 0 });
  attr(el, { "aria-label": "Token to attend to", "aria-valuemin": 1 });
  el.append(...cells.map((cell) => cell.el));
  onSteps(el, asked, tokens.length, onpick);

  const set = (/** @type {import("./arithmetic.js").State} */ state) => {
    const { query_heads, kv_heads, written } = state;
    // One stroke, dashed into as many marks as there are heads; the full height: as many as ask.
    const slot = TALL / query_heads;
    const stroke = {
      d: `M8 ${TALL}V${TALL - slot * kv_heads}`,
      "stroke-dasharray": `${0.7 * slot} ${0.3 * slot}`,
    };
    cells.forEach((cell, j) => {
      const { can, news } = asking({ ...state, asked: j });
      attr(cell.stack, stroke);
      attr(cell.el, {
        "data-is": j >= written ? "later" : can ? "kept" : news ? "told" : "lost",
        "data-role": j === state.asked ? "asked" : j === written - 1 ? "asks" : null,
      });
    });
    const { can } = asking(state);
    const place = `${state.asked + 1} of ${written}, ${clip(tokens[state.asked], 12)}`;
    attr(el, {
      ...{ "aria-valuenow": state.asked + 1, "aria-valuemax": written },
      "aria-valuetext": `${place}: ${can ? "kept" : "deleted"}`,
    });
  };
  return { el, set };
}
