// The reader's own forgery, and the evidence that exposes it.
import {
  fixed,
  h,
  knobs,
  noteLine,
  presets,
  resetButton,
  show,
  tableOf,
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
  ["Words that change if the linked state is hidden", "changed"],
  ["… if another state is hidden", "other"],
];

/**
 * @param {import("../kit/index.js").Model} model
 * @param {Record<string, any>} data
 */
export function forging(model, data) {
  const { sentences, translators } = data;
  const knob = knobs(model);
  const titles = sentences.map(({ source }) => source.join(" "));
  const named = translators.map(({ name }) => name);
  const bleu = translators.map((t) => `${t.name} ${fixed(t.bleu, 1)}`).join(", ");
  const inSteps = (name) => ({
    step: 1 / STEPS,
    oninput: (x) => update(model, { [name]: Math.round(x * STEPS) / STEPS }),
  });
  const moved = [
    knob.pick("sentence", "Sentence", titles),
    knob.pick("drawn", "Encoder", named),
    knob.count("shift", "Label of a row", -1, 1, { text: (x) => LABELS[Math.round(x) + 1] }),
    knob.number("threshold", "White below", 0, 1 - 1 / STEPS, inSteps("threshold")),
    knob.number("darkest", "Darkest from", 1 / STEPS, 1, inSteps("darkest")),
    knob.tick("gold", "Outline gold links"),
  ];
  const ready = presets(model, [
    ["Shift the row labels", { ...HONEST, shift: -1 }],
    ["Make it look certain", { ...HONEST, threshold: 0.4, darkest: 0.4 }],
  ]);
  const made = h("p", {});
  const cells = ROWS.map(([, name]) =>
    ["here", "all"].map((where) => h("data", { "data-name": `${where}-${name}` })),
  );
  const table = tableOf(
    {},
    ["Evidence", "here", "all"],
    ROWS.map(([label], i) => [label, ...cells[i]]),
  );
  const supports = h("p", { "data-name": "forged-verdict" });
  const controls = h(
    "div",
    {},
    ...moved.map((one) => one.el),
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
    knob.sync(state);
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
