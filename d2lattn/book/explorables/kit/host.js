// An explorable has two hosts. `live` is what anywidget imports; `startAll` runs in a page without a
// kernel, on the state that stands in the page.
import { h } from "./elements.js";
import { shared } from "./share.js";

/** @typedef {import("./life.js").Model} Model */
/**
 * What a module exports. rebuild: traits whose change draws the figure anew, from nothing;
 * those that the reader does not move, and that decide how many controls there are.
 * share: what a link to the figure holds, each with a check of what others may write there.
 * keep: what readers make and no link holds, such as answers; keeping() has it outlive a reload.
 * @typedef {{
 *   render(given: { model: Model, el: HTMLElement }): (() => void) | void,
 *   rebuild?: string[],
 *   share?: import("./share.js").Checks, keep?: ReturnType<typeof import("./share.js").keeping>,
 * }} Explorable
 */

/**
 * Draw into el, and again when Python replaces what the figure is built from. What is shown stays
 * until the new drawing has succeeded.
 * @param {Explorable} explorable
 * @param {Model} model
 * @param {(el: HTMLElement) => void} put
 */
function play({ render, rebuild = [] }, model, put) {
  let stop = () => {};
  let waiting = false;
  const build = () => {
    waiting = false;
    const el = h("div");
    const next = render({ model, el });
    stop();
    stop = next ?? (() => {});
    put(el);
  };
  build();
  // Several traits may change at once, and fit together only when all have.
  const later = () => {
    if (!waiting) queueMicrotask(build);
    waiting = true;
  };
  for (const name of rebuild) model.on(`change:${name}`, later);
  return () => {
    stop();
    for (const name of rebuild) model.off(`change:${name}`, later);
  };
}

/** @param {Explorable} explorable */
export const live = (explorable) => ({
  /** @param {{ model: Model & { send(content: string): void } }} given */
  initialize({ model }) {
    // Python waits for this before it shows a live figure: not every notebook has anywidget.
    model.send("d2lx");
  },
  /** @param {{ model: Model, el: HTMLElement }} given */
  render({ model, el }) {
    try {
      return play(explorable, model, (figure) => el.replaceChildren(figure));
    } catch (error) {
      el.replaceChildren(h("p", {}, `Not drawn: ${error}`));
      console.error(error);
    }
  },
});

/**
 * Put a style sheet into the page, once however many figures it has.
 * @param {string} name
 * @param {string} text
 */
export function addStyle(name, text) {
  const found = document.querySelector(`style[data-d2lx-style="${name}"]`);
  const sheet = found ?? h("style", { "data-d2lx-style": name });
  sheet.textContent = text;
  if (!found) document.head.append(sheet);
}

/**
 * Start a page's figures once all its scripts have run. JupyterLab's page has been read long
 * before: there a figure waits for its kernel.
 * @param {Record<string, Explorable>} figures
 */
export function startAll(figures) {
  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll("[data-d2lx]")) {
      const figure = figures[String(place.getAttribute("data-d2lx")).replace(/-\w+$/, "")];
      if (figure) start(figure, place);
    }
  });
}

/**
 * Draw in place of the words, and take them away only if the drawing succeeded.
 * @param {Explorable} explorable
 * @param {Element} place
 */
function start(explorable, place) {
  // A page that is saved keeps the state, and can play.
  const kept = /** @type {Element} */ (place.querySelector('script[type="application/json"]'));
  const state = JSON.parse(kept.textContent ?? "");
  const kind = String(place.getAttribute("data-d2lx"));
  const page = { ...state };
  /** @type {Record<string, (() => void)[]>} */
  const heard = {};
  /** @type {Model} */
  const model = {
    first: (name) => page[name],
    get: (name) => state[name],
    set(name, value) {
      if (state[name] === value) return;
      state[name] = value;
      for (const listener of [...(heard[`change:${name}`] ?? [])]) listener();
    },
    save_changes() {},
    on(event, listener) {
      heard[event] = [...(heard[event] ?? []), listener];
    },
    off(event, listener) {
      heard[event] = (heard[event] ?? []).filter((one) => one !== listener);
    },
  };
  try {
    const link = shared(place, kind, explorable, model);
    play(explorable, model, (el) => {
      place.replaceChildren(kept, el);
      if (link) el.append(link);
    });
  } catch (error) {
    reportError(error); // the words stay, and the page's other figures start
  }
}
