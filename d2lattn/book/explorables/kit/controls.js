import { attr, clip, freshId, h } from "./elements.js";
import { update } from "./life.js";
import { fixed } from "./numbers.js";

/**
 * A labelled range input with its value printed: { el, input, set(x), range(min, max) }.
 * log: equal steps multiply, and min and max must be positive. text(x): the printed value.
 * @param {{
 *   label: string, min: number, max: number, step: number, value: number,
 *   oninput: (x: number) => void, log?: boolean, text?: (x: number) => string,
 * }} spec
 */
export function slider({ label, min, max, step, value, oninput, log = false, text = fixed }) {
  const there = (/** @type {number} */ x) => (log ? Math.log2(x) : x);
  const back = (/** @type {number} */ x) => (log ? 2 ** x : x);
  const id = freshId();
  // The input itself says its value; a second voice would say it again.
  const output = h("output", { for: id, "aria-live": "off" });
  const input = h("input", { id, type: "range", step });
  const say = (/** @type {number} */ x) => {
    output.textContent = text(x);
    input.setAttribute("aria-valuetext", text(x));
  };
  const tell = () => {
    const x = back(Number(input.value));
    say(x);
    oninput(x);
  };
  // A finger on the track may be about to scroll the page: it moves nothing until it has gone along
  // the track or been lifted there. Browsers go on moving the thumb once the page scrolls.
  let hand = "";
  let start = { x: 0, y: 0, value: "" };
  const free = () => {
    hand = "";
  };
  attr(input, {
    oninput() {
      if (hand === "scrolls") input.value = start.value;
      else if (!hand) tell();
    },
    onpointerdown({ pointerType, clientX: x, clientY: y }) {
      start = { x, y, value: input.value };
      hand = pointerType === "touch" ? "waits" : "";
    },
    onpointermove({ clientX: x, clientY: y }) {
      const along = Math.abs(x - start.x);
      if (hand !== "waits" || along < 4 || along < Math.abs(y - start.y)) return;
      free();
      tell();
    },
    onpointerup() {
      if (hand) tell();
      free();
    },
    onpointercancel() {
      const told = !hand;
      hand = "scrolls";
      input.value = start.value;
      if (told) tell();
    },
    ontouchend: free,
    onkeydown: free,
  });
  const range = (/** @type {number} */ low, /** @type {number} */ high) => {
    input.min = String(there(low));
    input.max = String(there(high));
  };
  const set = (/** @type {number} */ x) => {
    // Rounding to the step would move a value that Python set; the thumb alone is rounded.
    if (document.activeElement !== input || back(Number(input.value)) !== x)
      input.value = String(there(x));
    say(x);
  };
  // The label names its input by id: inside it, an output would be taken for what it names.
  const name = h("label", { for: id, dir: "auto", title: clip(label, 200) }, clip(label, 40));
  const el = h("div", { class: "d2lx-slider" }, name, output, input);
  range(min, max);
  set(value);
  return { el, input, set, range };
}

/**
 * A labelled list to choose from: { el, select, set(index) }; onchange gets the index.
 * @param {{ label: string, options: string[], value?: number, onchange: (index: number) => void }} spec
 */
export function choice({ label, options, value = 0, onchange }) {
  const select = h("select", { onchange: () => onchange(select.selectedIndex) });
  select.append(...options.map((option) => h("option", { dir: "auto" }, clip(option, 40))));
  const el = h("label", { class: "d2lx-choice" }, h("span", {}, label), select);
  const set = (/** @type {number} */ index) => {
    select.selectedIndex = index;
  };
  set(value);
  return { el, select, set };
}

/**
 * A labelled checkbox: { el, input, set(on) }; onchange gets true or false.
 * @param {{ label: string, onchange: (on: boolean) => void }} spec
 */
export function check({ label, onchange }) {
  const input = h("input", { type: "checkbox", onchange: () => onchange(input.checked) });
  const set = (/** @type {boolean} */ on) => {
    input.checked = on;
  };
  return { el: h("label", { class: "d2lx-choice d2lx-check" }, input, label), input, set };
}

/** @param {string} label @param {() => void} onclick */
export const button = (label, onclick) => h("button", { type: "button", onclick }, label);

/** At an end a button says so; not disabled: the focus stays where the reader left it. @param {Element} one @param {boolean} ended */
export const atEnd = (one, ended) => attr(one, { "aria-disabled": ended ? "true" : null });

/**
 * Puts the named traits back to what they were when the figure was drawn; in a page, to what they
 * were before a link or the reader changed them. It leaves alone which view is shown, and what
 * readers have made: marks and answers. also(): what else goes back, such as a question.
 * @param {import("./life.js").Model} model
 * @param {string[]} names
 */
export function resetButton(model, names, also = () => {}) {
  const start = Object.fromEntries(names.map((name) => [name, (model.first ?? model.get)(name)]));
  return button("Reset", () => {
    also();
    update(model, start);
  });
}

/**
 * A row of buttons that each set several traits: [["Uniform", { strength: 0 }], …].
 * @param {import("./life.js").Model} model
 * @param {[string, Record<string, any>][]} list
 */
export const presets = (model, list) =>
  list.map(([label, values]) => button(label, () => update(model, values)));
