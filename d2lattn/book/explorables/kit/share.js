// State in the address of the page, so that a reader can send what they see:
//   #d2lx.cue_mixer.strength=6.3&d2lx.cue_mixer.query=1
// Several figures stand beside each other there; one that is as the page shows it has no place in
// it, and an anchor of the page is never replaced unless the reader asks for a link.
import { button } from "./controls.js";
import { h, toolRow } from "./elements.js";

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

/** @typedef {import("./life.js").Model} Model */
/** @typedef {Record<string, (value: any, get: (name: string) => any) => boolean>} Checks */

/**
 * What readers have made, and no link holds, stays in this window when the page is loaded again.
 * @param {Checks} checks
 */
export const keeping = (checks) => (/** @type {string} */ key, /** @type {Model} */ model) => {
  const names = Object.keys(checks);
  try {
    const found = JSON.parse(sessionStorage.getItem(key) ?? "{}");
    for (const name of names)
      if (checks[name](found[name], model.get)) model.set(name, found[name]);
  } catch {
    // No store, or whatever else somebody has put there.
  }
  const keep = () => {
    try {
      const now = Object.fromEntries(names.map((name) => [name, model.get(name)]));
      sessionStorage.setItem(key, JSON.stringify(now));
    } catch {
      // No store.
    }
  };
  for (const name of names) model.on(`change:${name}`, keep);
};

/**
 * Take what the address holds for this figure, and write there what the reader moves. Returns the
 * row with the button, or nothing where the address is not ours, as in JupyterLab.
 * @param {Element} place
 * @param {string} kind
 * @param {{ share?: Checks, keep?: ReturnType<typeof keeping> }} explorable
 * @param {Model} model
 */
export function shared(place, kind, { share = {}, keep }, model) {
  const names = Object.keys(share);
  if (!names.length || place.closest(".lm-Widget")) return null;
  const stem = kind.replace(/-\w*$/, "");
  const alike = [...document.querySelectorAll(`[data-d2lx^="${stem}-"]`)];
  const nth = alike.indexOf(place);
  const prefix = `d2lx.${stem}${nth ? `.${nth + 1}` : ""}.`;
  keep?.(`${prefix}${kind} ${location.pathname}`, model);
  const start = Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const isOurs = () => location.hash.startsWith(OURS);
  const inAddress = () => new URLSearchParams(isOurs() ? location.hash.slice(1) : "");

  // What has been done while the address was an anchor of the page, and stands in none.
  let unwritten = false;
  // An anchor of the page says nothing of figures; what a link leaves out is as the page has it.
  const take = () => {
    if (location.hash && !isOurs()) return;
    // Back at an address that this figure has seen: what was done since is newer.
    if (unwritten && (!location.hash || history.state?.[prefix])) return write();
    unwritten = false;
    if (!isOurs()) return;
    seen(location.href);
    const all = inAddress();
    let moved = false;
    for (const name of names) {
      let value = start[name];
      try {
        const sent = JSON.parse(all.get(prefix + name) ?? "");
        if (fits(sent, value, (leaf) => share[name](leaf, model.get))) value = sent;
      } catch {
        // Nothing, or whatever else somebody has written there.
      }
      if (written(value) === written(model.get(name))) continue;
      model.set(name, value);
      moved = true;
    }
    // A link shows what it is about; whoever comes back to what they have seen stays where they were.
    if (moved && [...all.keys()][0].startsWith(prefix))
      requestAnimationFrame(() => place.scrollIntoView({ block: "nearest" }));
  };

  const address = () => {
    const all = inAddress();
    for (const name of names) {
      const value = written(model.get(name));
      all.delete(prefix + name);
      if (value !== written(start[name])) all.append(prefix + name, value);
    }
    const hash = all.size ? `#${all}` : "";
    return location.href.split("#")[0] + hash;
  };
  const seen = (/** @type {string} */ url) => {
    try {
      history.replaceState({ ...history.state, [prefix]: true }, "", url);
    } catch {
      // A page that is shown from nowhere has no address.
    }
  };
  const write = () => {
    unwritten = false;
    seen(address());
  };
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      if (!location.hash || isOurs()) write();
      else unwritten = true;
    }, 300);
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
  return toolRow(copy, said);
}
