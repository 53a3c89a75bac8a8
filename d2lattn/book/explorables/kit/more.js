import { h } from "./elements.js";

/**
 * What the question of the page does not need, folded under "More": a details element. A figure
 * shows what it is about, so where a link, a picture outside or Python moves one of the named
 * traits away from where it stood at first, it opens; it closes by the reader's hand alone.
 *   names    the traits that are moved, or shown, inside and nowhere else
 *   onopen() what is measured only while it is open
 * @param {import("./life.js").Model} model
 * @param {string[]} names
 * @param {(Node | string)[]} children
 */
export function more(model, names, children, onopen = () => {}) {
  const el = h("details", { class: "d2lx-fold", ontoggle: onopen }, h("summary", {}, "More"));
  el.append(...children);
  for (const name of names) {
    const said = (/** @type {any} */ value) => JSON.stringify(value);
    const first = said((model.first ?? model.get)(name));
    const look = () => {
      if (said(model.get(name)) !== first) el.open = true;
    };
    look();
    model.on(`change:${name}`, look);
  }
  return el;
}
