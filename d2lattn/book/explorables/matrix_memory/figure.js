import {
  announce,
  attr,
  begin,
  bind,
  columns,
  fixed,
  h,
  headLine,
  knobs,
  more,
  reader,
  resetButton,
  show,
  tableOf,
  toolRow,
  update,
} from "../kit/index.js";
import { DRINKS, GUESTS, KEYS, largest, memory, read, served, WISHES } from "./arithmetic.js";

const NAMES = ["told", "asked", "keep"];
const LEAST = 0.5;

/** A number on ink of its size: { el, set(x) }. @param {string} name */
function cell(name) {
  const ink = h("span", { class: "d2lx-ink" });
  const number = h("data", { "data-name": name });
  const set = (/** @type {number} */ x) => {
    ink.style.opacity = String(0.35 * Math.min(1, Math.abs(x) / 2));
    show(number, x);
  };
  return { el: h("td", {}, ink, number), set };
}

function render({ model, el }) {
  begin(el, "Matrix memory");
  const state = reader(model, NAMES);
  const start = state();
  const { number, count: counted, pick, sync } = knobs(model);
  const told = counted("told", "Guests so far", 0, GUESTS.length);
  const keep = number("keep", "Share kept for each new guest", LEAST, 1, {
    step: 0.05,
    oninput: (x) => update(model, { keep: Number(x.toFixed(2)) }),
  });
  const guests = GUESTS.map((name, i) => `${name} (${DRINKS[WISHES[i]]})`);
  const asked = pick("asked", "Guest who asks", guests);

  const entries = DRINKS.map((_, i) => h("data", { "data-name": `key-${i}` }));
  const cells = DRINKS.map((_, i) => DRINKS.map((_, j) => cell(`cell-${i}-${j}`)));
  const sums = DRINKS.map((_, j) => cell(`read-${j}`));
  const whose = h("th", { scope: "col" });
  const lines = [...cells, sums].map((row) => row.map((one) => one.el));
  const table = tableOf(
    { class: "d2lx-memory", "aria-label": "The matrix, and what a key reads in it" },
    [whose, ...DRINKS],
    [...entries, "gets"].map((name, i) => [name, ...lines[i]]),
  );
  const list = h("ul", { class: "d2lx-guests", "aria-label": "Guests who get the right drink" });
  const tools = toolRow(resetButton(model, NAMES));
  el.append(
    columns({
      result: [headLine("Key entries by drinks"), table, list],
      controls: [told.el, ...(start.keep < 1 ? [keep.el] : []), tools],
      more: [more(model, ["asked"], [asked.el])],
    }),
  );

  function draw() {
    const now = /** @type {any} */ (state());
    sync(now);
    const matrix = memory(now);
    const found = read(matrix, now.asked);
    whose.textContent = `key of ${GUESTS[now.asked]}`;
    entries.forEach((entry, i) => {
      show(entry, KEYS[now.asked][i], 1);
    });
    cells.forEach((row, i) => {
      row.forEach((one, j) => {
        one.set(matrix[i][j]);
      });
    });
    sums.forEach((one, j) => {
      one.set(found[j]);
      one.el.classList.toggle("d2lx-most", served(found) === j);
    });
    let count = 0;
    list.replaceChildren(
      ...GUESTS.slice(0, now.told).map((guest, i) => {
        const gets = read(matrix, i);
        const fits = served(gets) === WISHES[i];
        count += Number(fits);
        const most = largest(gets).map((drink) => DRINKS[drink]);
        const wrong = most.length > 1 ? `undecided, ${most.join(" or ")}` : `gets ${most[0]}`;
        const item = h("li", {}, `${guest}, ${DRINKS[WISHES[i]]}: ${fits ? "right" : wrong}`);
        attr(item, { class: fits ? "" : "d2lx-wrong" });
        return item;
      }),
    );
    const wish = WISHES[now.asked];
    announce(
      el,
      `${count} of ${now.told} served right; ${GUESTS[now.asked]} gets ${fixed(found[wish])} units of ${DRINKS[wish]}`,
    );
  }
  return bind(model, NAMES, draw).stop;
}

export default { render };
