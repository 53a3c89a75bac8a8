// State in the address of the page, so that a reader can send what they see:
//   #d2lx.cue_mixer.strength=6.3&d2lx.cue_mixer.ask=1
// Several figures stand beside each other there; one that is as the page shows it has no place in
// it, and an anchor of the page is never replaced unless the reader asks for a link.
import { button } from "./controls.js";
import { h } from "./elements.js";

const OURS = "#d2lx.";

/** @param {number} low @param {number} high */
export const within = (low, high) => (/** @type {unknown} */ x) =>
  typeof x === "number" && x >= low && x <= high;
/** @param {number} low @param {number} high */
export const whole = (low, high) => (/** @type {unknown} */ x) =>
  Number.isInteger(x) && within(low, high)(x);
/** @param {unknown[]} list */
export const oneOf = (list) => (/** @type {unknown} */ x) => list.includes(x);

/** Six digits are enough, and short. @type {(name: string, value: any) => any} */
const short = (_, value) => (typeof value === "number" ? Number(value.toPrecision(6)) : value);
const written = (/** @type {unknown} */ value) => JSON.stringify(value, short);

/**
 * Whether a value from a link has the form of the one that is there, and passes the check.
 * @param {any} value
 * @param {any} now
 * @param {(value: any) => boolean} check
 * @returns {boolean}
 */
function fits(value, now, check) {
  if (!Array.isArray(now)) return typeof value === typeof now && check(value);
  if (!Array.isArray(value) || value.length !== now.length) return false;
  return value.every((item, i) => fits(item, now[i], check));
}

/**
 * Take what the address holds for this figure, and write there what the reader moves. Returns the
 * row with the button, or nothing where the address is not ours, as in JupyterLab.
 * @param {Element} place
 * @param {string} kind
 * @param {Record<string, (value: any, get: (name: string) => any) => boolean>} share
 * @param {import("./life.js").Model} model
 */
export function shared(place, kind, share, model) {
  const names = Object.keys(share);
  if (!names.length || place.closest(".lm-Widget")) return null;
  const stem = kind.replace(/-\w*$/, "");
  const alike = [...document.querySelectorAll(`[data-d2lx^="${stem}-"]`)];
  const nth = alike.indexOf(place);
  const prefix = `d2lx.${stem}${nth ? `.${nth + 1}` : ""}.`;
  const start = Object.fromEntries(names.map((name) => [name, written(model.get(name))]));
  const inAddress = () =>
    new URLSearchParams(location.hash.startsWith(OURS) ? location.hash.slice(1) : "");

  const take = () => {
    let [taken, first] = [false, true];
    for (const [key, text] of inAddress()) {
      if (key.startsWith(prefix)) {
        const name = key.slice(prefix.length);
        try {
          const value = JSON.parse(text);
          const check = share[name];
          if (check && fits(value, model.get(name), (leaf) => check(leaf, model.get))) {
            model.set(name, value);
            taken = first || taken;
          }
        } catch {
          // Whatever else somebody has written there.
        }
      }
      first = false;
    }
    // A link shows what it is about.
    if (taken) requestAnimationFrame(() => place.scrollIntoView({ block: "nearest" }));
  };

  const address = () => {
    const all = inAddress();
    for (const key of [...all.keys()]) if (key.startsWith(prefix)) all.delete(key);
    for (const name of names) {
      const value = written(model.get(name));
      if (value !== start[name]) all.append(prefix + name, value);
    }
    const hash = all.size ? `#${all}` : "";
    return location.href.split("#")[0] + hash;
  };
  const write = () => {
    try {
      history.replaceState(history.state, "", address());
    } catch {
      // A page that is shown from nowhere has no address.
    }
  };
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    if (!location.hash || location.hash.startsWith(OURS)) timer = window.setTimeout(write, 300);
  };
  take();
  addEventListener("hashchange", take);
  for (const name of names) model.on(`change:${name}`, later);

  const said = h("span", { class: "d2lx-note", role: "status" });
  const copy = button("Copy link", async () => {
    write();
    try {
      await navigator.clipboard.writeText(address());
      said.textContent = "The link is copied.";
    } catch {
      said.textContent = "The link is in the address bar.";
    }
    setTimeout(() => said.replaceChildren(), 4000);
  });
  return h("div", { class: "d2lx-tools" }, copy, said);
}
