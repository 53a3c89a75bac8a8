import { DRINKS, GUESTS, KEYS, memory, read, served, WISHES } from "./guests/arithmetic.js";
import {
  announce,
  attr,
  begin,
  bind,
  choice,
  columns,
  fixed,
  formulaLine,
  h,
  headLine,
  noteLine,
  predictFirst,
  reader,
  readout,
  readoutRow,
  resetButton,
  show,
  slider,
  toolRow,
  update,
  whole,
  within,
} from "./kit/index.js";

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
  const told = slider({
    ...{ label: "Guests told", min: 0, max: GUESTS.length, step: 1, value: start.told },
    text: (x) => `${Math.round(x)}`,
    oninput: (x) => update(model, { told: Math.round(x) }),
  });
  const keep = slider({
    ...{ label: "Kept at each new guest", min: LEAST, max: 1, step: 0.05, value: start.keep },
    oninput: (x) => update(model, { keep: Number(x.toFixed(2)) }),
  });
  const asked = choice({
    label: "Who is asked for",
    options: GUESTS.map((name, i) => `${name} (${DRINKS[WISHES[i]]})`),
    onchange: (i) => update(model, { asked: i }),
  });

  const entries = DRINKS.map((_, i) => h("data", { "data-name": `key-${i}` }));
  const cells = DRINKS.map((_, i) => DRINKS.map((_, j) => cell(`cell-${i}-${j}`)));
  const sums = DRINKS.map((_, j) => cell(`read-${j}`));
  const whose = h("th", { scope: "col" });
  const head = h("tr", {}, whose, ...DRINKS.map((drink) => h("th", { scope: "col" }, drink)));
  const lines = cells.map((row, i) =>
    h("tr", {}, h("th", { scope: "row" }, entries[i]), ...row.map((one) => one.el)),
  );
  const reads = h("tr", {}, h("th", { scope: "row" }, "reads"), ...sums.map((one) => one.el));
  const table = h(
    "table",
    { class: "d2lx-memory", "aria-label": "The matrix, and what a key reads in it" },
    h("thead", {}, head),
    h("tbody", {}, ...lines, reads),
  );
  const right = readout("Served right, of those told", "right", 0);
  const results = readoutRow(right.el);
  const formula = formulaLine();
  const list = h("ul", { class: "d2lx-guests" });
  const predict = predictFirst({
    question: "What does this guest's key read for the drink that the guest wants?",
    label: "Your guess: what it reads",
    ...{ min: -1, max: 2.5, step: 0.05 },
    answer: () => {
      const now = /** @type {any} */ (state());
      return read(memory(now), now.asked)[WISHES[now.asked]];
    },
    covered: [reads, results, formula, list],
    onchange: () => live.redraw(),
  });
  const tools = toolRow(resetButton(model, NAMES, predict.stop));
  el.append(
    columns({
      result: [headLine("Key entries by drinks"), table, results],
      controls: [told.el, asked.el, ...(start.keep < 1 ? [keep.el] : []), tools, predict.el],
      more: [
        formula,
        list,
        noteLine(
          "Left: the key of who is asked for. Each row counts as often as the key says; the sum is what is read. A drink is served if it alone is largest.",
        ),
      ],
    }),
  );

  function draw() {
    const now = /** @type {any} */ (state());
    told.set(now.told);
    asked.set(now.asked);
    keep.set(now.keep);
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
    const drinks = GUESTS.slice(0, now.told).map((_, i) => served(read(matrix, i)));
    const count = drinks.filter((drink, i) => drink === WISHES[i]).length;
    right.set(count);
    list.replaceChildren(
      ...drinks.map((drink, i) => {
        const gets = drink < 0 ? "undecided" : `gets ${DRINKS[drink]}`;
        const fits = drink === WISHES[i];
        const words = `${GUESTS[i]}, ${DRINKS[WISHES[i]]}: ${fits ? "right" : gets}`;
        const item = h("li", {}, words);
        attr(item, { class: fits ? "" : "d2lx-wrong" });
        return item;
      }),
    );
    const column = DRINKS[WISHES[now.asked]];
    const terms = KEYS[now.asked].map(
      (entry, i) => `${fixed(entry, 1)} · ${fixed(matrix[i][WISHES[now.asked]])}`,
    );
    const sum = found[WISHES[now.asked]];
    formula.textContent = `${column}: ${terms.join(" + ")} = ${fixed(sum)}`;
    announce(el, `${count} of ${now.told} served right; ${GUESTS[now.asked]} reads ${fixed(sum)}`);
  }
  const live = bind(model, NAMES, draw);
  for (const name of NAMES) model.on(`change:${name}`, predict.refresh);
  return live.stop;
}

export default {
  render,
  share: {
    told: whole(0, GUESTS.length),
    asked: whole(0, GUESTS.length - 1),
    keep: within(LEAST, 1),
  },
};
