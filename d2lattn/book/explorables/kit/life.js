import { freshId, h } from "./elements.js";

/**
 * What hosts give: anywidget's model, or the static one.
 * @typedef {{
 *   get(name: string): any, set(name: string, value: any): void, save_changes(): void,
 *   on(event: string, listener: () => void): void, off(event: string, listener: () => void): void,
 *   first?(name: string): any,
 * }} Model
 * first: in a page, what a trait was before a link or the reader changed it.
 */

/** @type {WeakMap<Element, (text: string, part: string) => void>} */
const regions = new WeakMap();

/**
 * The first line of every render: a frame with a title and a voice.
 * @param {HTMLElement} el
 * @param {string} title
 */
export function begin(el, title) {
  const name = h("div", { class: "d2lx-title", id: freshId() }, title);
  // No heading: a figure does not know how deep in the page it stands.
  el.classList.add("d2lx");
  el.setAttribute("role", "group");
  el.setAttribute("aria-labelledby", name.id);
  const region = h("div", { class: "d2lx-quiet", role: "status" });
  el.append(name, region);
  let moved = false;
  let timer = 0;
  /** @type {Record<string, string>} */
  let said = {};
  regions.set(el, (text, part) => {
    // A page that opens has nothing to say.
    if (!moved) return;
    said[part] = text;
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      region.textContent = Object.values(said).join(". ");
      said = {};
    }, 500);
  });
  for (const event of ["keydown", "pointerdown", "input"])
    el.addEventListener(
      event,
      () => {
        moved = true;
      },
      true,
    );
  // JupyterLab takes arrow keys for its cells, except from an element that carries this mark itself.
  el.addEventListener("focusin", ({ target }) => {
    /** @type {Element} */ (target).setAttribute("data-lm-suppress-shortcuts", "true");
  });
}

/**
 * The parts of a figure, side by side where there is room: what is moved, and what it moves. On a
 * phone the result stands first, its controls right below it, and the rest after them; keep result
 * and controls together lower than a phone is high.
 * @param {{ result: (Node | string)[], controls: (Node | string)[], more?: (Node | string)[] }} parts
 */
export const columns = ({ result, controls, more = [] }) =>
  h(
    "div",
    { class: "d2lx-columns" },
    h("div", { class: "d2lx-result" }, ...result),
    h("div", { class: "d2lx-controls" }, ...controls),
    h("div", { class: "d2lx-more" }, ...more),
  );

/**
 * Tell screen readers, once the reader pauses: one announcement a figure, whatever has changed.
 * A figure has one text for each part; the last one counts.
 * @param {Element} inside the figure's element, or any in it
 * @param {string} text
 */
export function announce(inside, text, part = "figure") {
  const el = inside.closest(".d2lx");
  // Whoever is asked to predict is not told.
  if (!el || (part === "figure" && el.querySelector("[data-predicting]"))) return;
  regions.get(el)?.(text, part);
}

/**
 * Redraws once a frame however many traits change, at first right away. Returns { redraw, stop }.
 * also(): what else to do at each change, such as to forget a guess.
 * @param {Model} model
 * @param {string[]} names
 * @param {() => void} draw
 */
export function bind(model, names, draw, also = () => {}) {
  let waiting = 0;
  const redraw = () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      draw();
    });
  };
  for (const name of names) model.on(`change:${name}`, redraw);
  draw();
  for (const name of names) model.on(`change:${name}`, also);
  const stop = () => {
    cancelAnimationFrame(waiting);
    for (const name of names) model.off(`change:${name}`, redraw);
  };
  return { redraw, stop };
}

/**
 * A function that reads the named traits: { name: value, … }.
 * @param {Model} model
 * @param {string[]} names
 * @returns {() => Record<string, any>}
 */
export const reader = (model, names) => () =>
  Object.fromEntries(names.map((name) => [name, model.get(name)]));

/**
 * Set traits and tell Python.
 * @param {Model} model
 * @param {Record<string, any>} values
 */
export function update(model, values) {
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  model.save_changes();
}
