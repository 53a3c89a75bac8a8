// A row of words that change places: by arrow keys, by mouse and by touch.
import { attr, clamp, h, onSteps, toolRow } from "../kit/index.js";

/**
 * { el, set(order, picked, positions) }. The picked word is the one stop of the row, a slider whose
 * value is its place. onmove(t, place), onpick(t).
 * @param {string[]} names
 * @param {(t: number, place: number) => void} onmove
 * @param {(t: number) => void} onpick
 */
export function tokenRow(names, onmove, onpick) {
  const last = names.length - 1;
  /** @type {number[]} */
  let order = [];
  const tokens = names.map((name, t) => {
    const token = h("span", { class: "d2lx-token", role: "slider", "aria-label": name }, name);
    attr(token, {
      ...{ dir: "auto", "aria-valuemin": 1, "aria-valuemax": names.length },
      onpointerdown(/** @type {PointerEvent} */ event) {
        if (event.button) return;
        token.setPointerCapture(event.pointerId);
        onpick(t);
        token.focus();
        event.preventDefault();
      },
      onpointermove(/** @type {PointerEvent} */ event) {
        const { clientX: x, clientY: y } = event;
        const under = /** @type {any} */ (document.elementFromPoint(x, y));
        // Another word lies under the pointer only while it is held: until then, this one does.
        const to = order.indexOf(tokens.indexOf(under));
        if (to < 0 || under === token) return;
        // Past the middle alone: words of different widths would change places for ever.
        const { left, width } = under.getBoundingClientRect();
        if (x > left + width / 2 === to > order.indexOf(t)) onmove(t, to);
      },
    });
    onSteps(
      token,
      () => order.indexOf(t),
      last,
      (to) => onmove(t, clamp(to, 0, last)),
    );
    return token;
  });
  const el = toolRow(...tokens);
  const set = (/** @type {number[]} */ next, /** @type {number} */ picked, positions = false) => {
    if (next.join() !== order.join()) {
      const all = next.map((t) => tokens[t]);
      // A word that is taken out and put back loses the focus: the others move around it.
      const still = all.find((one) => one === document.activeElement);
      const at = still ? all.indexOf(still) : 0;
      still?.before(...all.slice(0, at));
      el.append(...all.slice(still ? at + 1 : 0));
    }
    order = next;
    order.forEach((t, place) => {
      attr(tokens[t], {
        "aria-valuenow": place + 1,
        "aria-valuetext": `position ${place + 1} of ${names.length}`,
        "aria-current": t === picked ? "true" : null,
        tabindex: t === picked ? 0 : -1,
      }).replaceChildren(names[t], positions ? `\n+ place ${place}` : "");
    });
  };
  return { el, set };
}
