// The right hand: blind cases, with evidence that is opened one piece at a time.
import { button, choice, fixed, h, headLine, noteLine, toolRow, update } from "../kit/index.js";
import { changesMade, count, rates, total, verdict } from "./evidence.js";
import { ALL, key, many, ofWhom, percent, RULE, reasons, SUPPORTED } from "./telling.js";

const NAMES = Object.keys(SUPPORTED);
export const PIECES = ["gold", "baselines", "hidden", "scale"];
const TITLES = {
  gold: "Error rate against gold",
  baselines: "Baselines",
  hidden: "Hide-the-state test",
  scale: "Scale",
};
const ASKED = {
  [ALL]: "The picture speaks for all words.",
  form: "The question is about the rows with a star: words whose form a later English word decides.",
  end: "The question is about the row with a star: the mark that ends the sentence.",
};

/**
 * @param {import("../kit/index.js").Model} model
 * @param {Record<string, any>} data
 */
export function auditing(model, data) {
  const { sentences, translators, cases, tallies } = data;
  const at = (list, k) => list[k] ?? "";
  const put = (list, k, value) =>
    Array.from({ length: cases.length }, (_, i) => (i === k ? value : at(list, i)));
  const openedOf = (state) => at(state.opened, state.case) || [];
  const read = () => ({
    case: Math.min(model.get("case"), cases.length - 1),
    answers: model.get("answers"),
    opened: model.get("opened"),
  });

  const pick = choice({
    label: "Case",
    options: cases.map((_, k) => `${k + 1} of ${cases.length}`),
    onchange: (k) => update(model, { case: k }),
  });
  const next = button("Next case", () => update(model, { case: (read().case + 1) % cases.length }));
  const question = h("p", {});
  const pieces = PIECES.map((name) => {
    const text = h("p", { class: "d2lx-piece", hidden: true, "data-name": `piece-${name}` });
    const open = button(TITLES[name], () => {
      const state = read();
      const already = openedOf(state);
      if (already.includes(name) || at(state.answers, state.case)) return;
      update(model, { opened: put(state.opened, state.case, [...already, name]) });
    });
    return { name, open, text };
  });
  const answers = NAMES.map((name) =>
    button(SUPPORTED[name][0].toUpperCase() + SUPPORTED[name].slice(1), () => {
      const state = read();
      if (at(state.answers, state.case)) return;
      update(model, { answers: put(state.answers, state.case, name) });
    }),
  );
  const judged = h("div", { "data-name": "audit-verdict" });
  const tally = h("div", { "data-name": "audit-tally" });
  const group = (/** @type {string} */ label, /** @type {Node[]} */ children) =>
    h("div", { role: "group", "aria-label": label, class: "d2lx-tools" }, ...children);
  const controls = h(
    "div",
    {},
    toolRow(pick.el, next),
    question,
    headLine("Open evidence"),
    ...pieces.map(({ open, text }) => h("div", {}, open, text)),
    headLine("Your verdict on the picture"),
    group("Your verdict on the picture", answers),
  );
  // At the end, and it takes nothing away for good.
  /** @type {Record<string, any> | null} */
  let before = null;
  const again = button("", () => {
    const { answers, opened } = read();
    const back = before;
    before = back ? null : { answers, opened };
    update(model, { case: 0, ...(back ?? { answers: [], opened: [] }) });
  });
  const results = h("div", {}, judged, tally, again, noteLine(RULE));

  const figures = (one) => rates(total(tallies[key(one)], one.threshold));

  /** What each piece of evidence says. */
  function evidence(one) {
    const all = figures(one);
    const here = rates(count(sentences[one.sentence], one));
    const over = one.words === ALL ? "" : " in question";
    const scale = [
      one.threshold && `weights under ${fixed(one.threshold)} had no ink`,
      one.darkest < 1 && `full ink began at ${fixed(one.darkest)}`,
    ].filter(Boolean);
    return {
      gold:
        `Over all ${many(data.size)} test sentences: ${fixed(all.error, 3)}, for ${many(all.words)} words${over}` +
        (all.links < all.words ? `, of which ${many(all.links)} have a link. ` : ". ") +
        `This sentence: ${fixed(here.error, 3)}. Gold links are outlined now.`,
      baselines: `For the same words: diagonal ${fixed(all.diagonal, 3)}, random links ${fixed(all.uniform, 3)}.`,
      hidden:
        `Hiding the state that the picture points at changes the word in ${percent(all.changed)} of ` +
        `${many(all.links)} cases; hiding another one, in ${percent(all.other)}.`,
      scale: scale.length
        ? `In what you saw, ${scale.join(" and ")}. It is drawn from 0 to 1 now.`
        : "Ink runs from 0 to 1, and nothing is left out.",
    };
  }

  /** What the answer is, and why. */
  function reveal(one, answer) {
    const all = figures(one);
    const { name } = verdict(all);
    const made = changesMade(one, translators);
    if (one.picked)
      made.push(
        `it was picked as the sentence that suits the picture best: an error rate of ` +
          fixed(rates(count(sentences[one.sentence], one)).error),
      );
    const whose = `the weights of ${ofWhom(data, translators[one.drawn].name)}`;
    return [
      `You said ${SUPPORTED[answer]}; the evidence supports ${SUPPORTED[name]}.`,
      ...reasons(all),
      `How it was made: ${[one.drawn === one.tested && whose, ...made].filter(Boolean).join("; ")}.`,
    ];
  }

  function drawTally(state) {
    const given = cases.map((one, k) => [at(state.answers, k), verdict(figures(one)).name, k]);
    const done = given.filter(([answer]) => answer);
    const right = done.filter(([answer, name]) => answer === name).length;
    const line = `${done.length} of ${cases.length} audited${done.length ? `, ${right} as the evidence has it` : ""}.`;
    const cell = (text) => h("td", {}, text);
    const rows = done.map(([answer, name, k]) => {
      const seen = at(state.opened, k) || [];
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, `${k + 1}`),
        cell(SUPPORTED[answer]),
        cell(SUPPORTED[name]),
        cell(`${seen.length} of ${PIECES.length}`),
      );
    });
    const head = ["Case", "You", "Evidence", "Opened"].map((text) =>
      h("th", { scope: "col" }, text),
    );
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
    tally.replaceChildren(
      headLine(done.length === cases.length ? "Final tally" : "So far"),
      h("p", {}, line),
      ...(done.length ? [table] : []),
    );
    // Once there are new answers, the old ones are what is given up.
    if (done.length) before = null;
    const old = before?.answers.filter(Boolean).length;
    again.hidden = !done.length && !old;
    again.textContent = done.length ? "Start again" : `Bring my ${old} answers back`;
    return line;
  }

  /** @param {Record<string, any>} given */
  function draw(given) {
    const state = { ...given, ...read() };
    const one = cases[state.case];
    const answer = at(state.answers, state.case);
    const opened = answer ? PIECES : openedOf(state);
    const texts = evidence(one);
    pick.set(state.case);
    question.textContent =
      "Is this where the translator looked when it wrote the sentence, and would a person point " +
      `there? ${ASKED[one.words]}`;
    for (const { name, open, text } of pieces) {
      const seen = opened.includes(name);
      open.setAttribute("aria-expanded", String(seen));
      open.setAttribute("aria-disabled", String(seen));
      text.hidden = !seen;
      // Whoever has not opened it finds it nowhere.
      text.textContent = seen ? texts[name] : "";
    }
    NAMES.forEach((name, k) => {
      answers[k].setAttribute("aria-pressed", String(answer === name));
      answers[k].setAttribute("aria-disabled", String(Boolean(answer)));
    });
    const told = answer ? reveal(one, answer) : [];
    judged.replaceChildren(
      ...told.slice(0, 1).map((text) => h("p", {}, h("strong", {}, text))),
      ...(answer ? [h("ul", {}, ...told.slice(1).map((text) => h("li", {}, text)))] : []),
    );
    const line = drawTally(state);
    const newest = opened.at(-1);
    const said = answer
      ? told.join(" ") + (state.answers.filter(Boolean).length === cases.length ? ` ${line}` : "")
      : newest
        ? texts[newest]
        : `Case ${state.case + 1}. ${ASKED[one.words]}`;
    const honest = opened.includes("scale") ? { threshold: 0, darkest: 1 } : {};
    const sentence = sentences[one.sentence];
    const least = Math.floor(Math.min(...translators.map(({ bleu }) => bleu)));
    return {
      picture: { ...one, ...honest },
      gold: opened.includes("gold"),
      weights: opened.includes("scale"),
      said,
      caption: [sentence.source.join(" "), sentence.translations[one.tested]],
      bleu: `BLEU on ${many(data.size)} sentences: at least ${least}.`,
    };
  }
  return { heading: h("div"), controls, results, draw };
}
