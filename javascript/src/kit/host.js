// An explorable has two hosts. `live` is what anywidget imports; `start` runs in a page without a
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
 * Draw beside the words that stand in the first element of this kind that nobody has started, and
 * take them away only if the drawing succeeded.
 * @param {Explorable} explorable
 * @param {string} kind
 * @param {Record<string, any>} state
 */
export function start(explorable, kind, state) {
  const places = /** @type {(Element & { d2lxStarted?: boolean })[]} */ ([
    ...document.querySelectorAll(`[data-d2lx="${kind}"]`),
  ]);
  // Not an attribute: that would be stored with a saved page, and nobody would start it again.
  const place = places.find((one) => !one.d2lxStarted);
  if (!place) return;
  place.d2lxStarted = true;
  // A page that is saved keeps the code, which stands in a comment, and can play.
  const kept = [...place.childNodes].filter((node) => node.nodeType === Node.COMMENT_NODE);
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
  const link = shared(place, kind, explorable, model);
  play(explorable, model, (el) => {
    place.replaceChildren(...kept, el);
    if (link) el.append(link);
  });
}
