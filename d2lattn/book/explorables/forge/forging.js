// The reader's own forgery, and the evidence that exposes it.
import {
  check,
  choice,
  fixed,
  h,
  noteLine,
  presets,
  resetButton,
  show,
  slider,
  toolRow,
  update,
} from "../kit/index.js";
import { changesMade, count, rates, STEPS, total, verdict } from "./evidence.js";
import { key, many, percent, RULE, reasons, SUPPORTED } from "./telling.js";

const MOVED = ["sentence", "drawn", "shift", "threshold", "darkest", "gold"];
const HONEST = { shift: 0, threshold: 0, darkest: 1 };
const LABELS = ["of the word before", "its own", "of the word after"];
const ROWS = [
  ["Error rate of the links", "error"],
  ["… of the diagonal", "diagonal"],
  ["… of random links", "uniform"],
  ["Words that change: state pointed at hidden", "changed"],
  ["… another state hidden", "other"],
];

/**
 * @param {import("../kit/index.js").Model} model
 * @param {Record<string, any>} data
 */
export function forging(model, data) {
  const { sentences, translators } = data;
  const set = (name) => (x) => update(model, { [name]: x });
  const sentence = choice({
    label: "Sentence",
    options: sentences.map(({ source }) => source.join(" ")),
    onchange: set("sentence"),
  });
  const encoder = choice({
    label: "Encoder",
    options: translators.map(({ name }) => name),
    onchange: set("drawn"),
  });
  const shift = slider({
    ...{ label: "Label of a row", min: -1, max: 1, step: 1, value: 0 },
    text: (x) => LABELS[Math.round(x) + 1],
    oninput: set("shift"),
  });
  const bleu = translators.map((t) => `${t.name} ${fixed(t.bleu, 1)}`).join(", ");
  const round = (name) => (x) => update(model, { [name]: Math.round(x * STEPS) / STEPS });
  const threshold = slider({
    ...{ label: "No ink below", min: 0, max: 1 - 1 / STEPS, step: 1 / STEPS, value: 0 },
    oninput: round("threshold"),
  });
  const darkest = slider({
    ...{ label: "Full ink from", min: 1 / STEPS, max: 1, step: 1 / STEPS, value: 1 },
    oninput: round("darkest"),
  });
  const gold = check({ label: "Outline gold links", onchange: set("gold") });
  const ready = presets(model, [
    ["Slip of one row", { ...HONEST, shift: -1 }],
    ["Make it look sure", { ...HONEST, threshold: 0.4, darkest: 0.4 }],
  ]);
  const made = h("p", {});
  const cells = ROWS.map(([, name]) =>
    ["here", "all"].map((where) => h("data", { "data-name": `${where}-${name}` })),
  );
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Evidence"),
        h("th", { scope: "col" }, "here"),
        h("th", { scope: "col" }, "all"),
      ),
    ),
    h(
      "tbody",
      {},
      ...ROWS.map(([label], i) =>
        h("tr", {}, h("th", { scope: "row" }, label), ...cells[i].map((data) => h("td", {}, data))),
      ),
    ),
  );
  const supports = h("p", { "data-name": "forged-verdict" });
  const controls = h(
    "div",
    {},
    sentence.el,
    encoder.el,
    shift.el,
    threshold.el,
    darkest.el,
    gold.el,
    toolRow(...ready, resetButton(model, MOVED)),
  );
  const note = noteLine();
  const why = h("ul", {});
  const heading = h("div", {}, made, supports);
  const results = h("div", {}, table, why, note);

  /** @param {Record<string, any>} state */
  function draw(state) {
    const setting = /** @type {any} */ (state);
    const one = sentences[state.sentence];
    sentence.set(state.sentence);
    encoder.set(state.drawn);
    shift.set(state.shift);
    threshold.set(state.threshold);
    darkest.set(state.darkest);
    gold.set(state.gold);
    const found = [
      rates(count(one, setting)),
      rates(total(data.tallies[key(setting)], state.threshold)),
    ];
    ROWS.forEach(([, name], i) =>
      found.forEach((rate, j) => {
        show(cells[i][j], rate[name], 3);
        if (i > 2) cells[i][j].textContent = percent(rate[name]);
      }),
    );
    const changes = changesMade(setting);
    const { name } = translators[state.drawn];
    made.replaceChildren(
      h("strong", {}, changes.length ? "You changed: " : "Nothing changed: "),
      changes.length ? `${changes.join("; ")}.` : `this is what the ${name} model did.`,
    );
    const judged = verdict(found[1]);
    supports.replaceChildren(
      "The evidence supports: ",
      h("strong", {}, SUPPORTED[judged.name]),
      ".",
    );
    why.replaceChildren(...reasons(found[1]).map((text) => h("li", {}, text)));
    note.textContent =
      `Here: this sentence. All: ${many(data.size)} test sentences, of whose ${many(found[1].words)} words ` +
      `${many(found[1].links)} have a link. ${RULE}`;
    const [told] = changes.slice(-1);
    return {
      said: `${told ?? "nothing changed"}. Error rate ${fixed(found[1].error)}, supports ${SUPPORTED[judged.name]}`,
      caption: [one.source.join(" "), one.translations[state.drawn]],
      bleu: `BLEU on ${many(data.size)} sentences: ${bleu}.`,
    };
  }
  return { heading, controls, results, draw };
}
