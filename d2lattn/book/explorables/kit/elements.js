// Elements are made here and nowhere else: what is given as text stays text, never HTML.

/** @typedef {Record<string, any>} Values attributes by name; functions become listeners */

/** Numbers the ids that labels and patterns need; shared by all explorables of a page. */
export function freshId() {
  const page = /** @type {{ d2lxCount?: number }} */ (globalThis);
  page.d2lxCount = (page.d2lxCount ?? 0) + 1;
  return `d2lx${page.d2lxCount}`;
}

/**
 * Set many attributes; functions become listeners (oninput: f), null and false take one away.
 * @template {Element} E
 * @param {E} element
 * @param {Values} values
 */
export function attr(element, values) {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (value === null || value === false) element.removeAttribute(name);
    // Even the same value again would have the browser lay the shape out once more.
    else if (element.getAttribute(name) !== `${value}`)
      element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

/**
 * An HTML element: h("p", { class: "d2lx-note" }, "text", child, …).
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Values} values
 * @param {...(Node | string)} children
 */
export function h(tag, values = {}, ...children) {
  const element = attr(document.createElement(tag), values);
  element.append(...children);
  return element;
}

/**
 * The same for SVG.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Values} values
 * @param {...(Node | string)} children
 */
export function s(tag, values = {}, ...children) {
  const element = attr(document.createElementNS("http://www.w3.org/2000/svg", tag), values);
  element.append(...children);
  return element;
}

// The rows and lines that every figure has.
/** @type {(...children: (Node | string)[]) => HTMLElement} */
export const toolRow = (...children) => h("div", { class: "d2lx-tools" }, ...children);
/** @type {(...children: (Node | string)[]) => HTMLElement} */
export const readoutRow = (...children) => h("div", { class: "d2lx-readouts" }, ...children);
/** @type {(...children: (Node | string)[]) => HTMLElement} */
export const headLine = (...children) => h("div", { class: "d2lx-head" }, ...children);
/** @type {(...children: (Node | string)[]) => HTMLElement} */
export const formulaLine = (...children) => h("p", { class: "d2lx-formula" }, ...children);
/** @type {(...children: (Node | string)[]) => HTMLElement} */
export const noteLine = (...children) => h("p", { class: "d2lx-note" }, ...children);

/** Cut a label to at most n characters, never through an emoji. @param {unknown} text */
export function clip(text, n = 16) {
  const letters = Array.from(String(text).slice(0, 4 * n + 4));
  return letters.length > n ? `${letters.slice(0, n - 1).join("")}…` : letters.join("");
}

/**
 * Keeps a number of equal SVG elements in a group: pool(group, "circle")(5) gives five of them.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Element} group
 * @param {Tag} tag
 * @param {Values} values
 */
export function pool(group, tag, values = {}) {
  /** @type {SVGElementTagNameMap[Tag][]} */
  const elements = [];
  return (/** @type {number} */ n) => {
    while (elements.length < n) {
      const element = s(tag, values);
      elements.push(element);
      group.append(element);
    }
    while (elements.length > n) elements.pop()?.remove();
    return elements;
  };
}

/**
 * Calls back with the element's width, at first and whenever it changes.
 * @param {Element} element
 * @param {(width: number) => void} callback
 */
export function onWidth(element, callback) {
  let last = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width > 0 && width !== last) {
      last = width;
      callback(width);
    }
  }).observe(element);
}

/** How much larger than at first the reader has made text; drawings give it as much more room. */
export const larger = () =>
  parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;

/**
 * An open line: stroke("ink", 2.5).
 * @param {string} colour
 * @param {number} width
 * @param {Values} values
 */
export const stroke = (colour, width, values = {}) =>
  s("path", {
    ...{ fill: "none", stroke: `var(--d2lx-${colour})`, "stroke-width": width },
    ...values,
  });

/**
 * A box around something gold: a light line under a dark one, seen on every cell.
 * @param {Values} place @param {string} kind @param {string | null} dashes
 */
export const outlined = (place, kind, dashes) =>
  [
    { stroke: "var(--d2lx-paper)", "stroke-width": 4.5, "data-gold": "halo" },
    {
      ...{ stroke: "var(--d2lx-ink)", "stroke-width": 2 },
      ...{ "stroke-dasharray": dashes, "data-gold": kind },
    },
  ].map((look) => s("rect", { ...place, fill: "none", ...look }));

/**
 * A table with its own names for columns and rows: [["a", cell, cell], …].
 * @param {Values} values
 * @param {(Node | string)[]} columns
 * @param {(Node | string)[][]} rows
 */
export function tableOf(values, columns, rows) {
  const named = (/** @type {(Node | string)} */ name, /** @type {string} */ scope) =>
    name instanceof Element && name.tagName === "TH" ? name : h("th", { scope }, name);
  const cell = (/** @type {Node | string} */ one) =>
    one instanceof Element && one.tagName === "TD" ? one : h("td", {}, one);
  return h(
    "table",
    values,
    h("thead", {}, h("tr", {}, ...columns.map((name) => named(name, "col")))),
    h(
      "tbody",
      {},
      ...rows.map(([name, ...cells]) => h("tr", {}, named(name, "row"), ...cells.map(cell))),
    ),
  );
}

/** Such keys are the browser's: Alt with the left arrow goes back. @param {KeyboardEvent} event */
export const modified = (event) => event.altKey || event.ctrlKey || event.metaKey;

/**
 * Hear keys: act(key, event) returns true where it has taken the key, which no other then hears; the
 * notebook has its own use for some.
 * @param {Element} element
 * @param {(key: string, event: KeyboardEvent) => boolean | undefined | void} act
 */
export const onKeys = (element, act) =>
  element.addEventListener("keydown", (given) => {
    const event = /** @type {KeyboardEvent} */ (given);
    if (modified(event) || !act(event.key, event)) return;
    event.preventDefault();
    event.stopPropagation();
  });

/**
 * The keys of a slider, on an element that is one: go(place) to the next place, the first or the
 * last; it may lie outside.
 * @param {Element} element
 * @param {() => number} now
 * @param {number} last
 * @param {(place: number) => void} go
 */
export const onSteps = (element, now, last, go) =>
  onKeys(element, (key) => {
    /** @type {Record<string, number>} */
    const to = {
      ...{ ArrowLeft: now() - 1, ArrowDown: now() - 1, Home: 0 },
      ...{ ArrowRight: now() + 1, ArrowUp: now() + 1, End: last },
    };
    if (key in to) go(to[key]);
    return key in to;
  });
