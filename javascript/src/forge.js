import { auditing, PIECES } from "./forge/auditing.js";
import { asked, picture, rowsOf, STEPS } from "./forge/evidence.js";
import { forging } from "./forge/forging.js";
import { SUPPORTED } from "./forge/telling.js";
import {
  announce,
  begin,
  bind,
  choice,
  fixed,
  h,
  heatmap,
  keeping,
  noteLine,
  onCanvas,
  oneOf,
  s,
  update,
  whole,
  within,
} from "./kit/index.js";

const STATE = ["view", "sentence", "drawn", "shift", "threshold", "darkest", "gold"];
const AUDIT = ["case", "answers", "opened"];
const VIEWS = ["forge", "audit"];

// Shorter to write: weights come in ten-thousandths, where most are 0 as { place: weight }, and
// possible links without the sure ones.
const unpack = (one) => ({
  ...one,
  weights: one.weights.map((rows) =>
    rows.map((row) => one.source.map((_, i) => (row[i] ?? 0) / 10000)),
  ),
  possible: [...one.sure, ...one.possible],
});

// A light line under a dark one: seen on every cell.
const outline = ({ x, y, width, height }, dashed) =>
  ["var(--d2lx-paper)", "var(--d2lx-ink)"].map((stroke, top) =>
    s("rect", {
      ...{ x: x + 2, y: y + 2, width: width - 4, height: height - 4, fill: "none", stroke },
      "stroke-width": top ? 2 : 4.5,
      "stroke-dasharray": top && dashed ? "3 3" : "none",
      "data-gold": top ? (dashed ? "possible" : "sure") : "halo",
    }),
  );

function render({ model, el }) {
  begin(el, "Forge and audit");
  const given = model.get("data");
  const data = { ...given, sentences: given.sentences.map(unpack) };
  const view = choice({
    label: "View",
    options: ["Forge: make a picture lie", "Audit: judge blind cases"],
    onchange: (k) => update(model, { view: VIEWS[k] }),
  });
  const caption = h("p", {});
  const bleu = noteLine();
  const legend = noteLine();
  const matrix = heatmap({
    many: onCanvas,
    label: "Attention, French in rows and English in columns",
    rows: ["-"],
    columns: ["-"],
    rowTitle: "row",
    columnTitle: "column",
    // Too many to print: a forger prints no numbers.
    digits: 4,
  });
  const parts = [forging(model, data), auditing(model, data)];
  const sides = parts.map((part) => h("div", {}, part.controls, part.results));
  const headings = parts.map((part) => part.heading);
  el.append(
    view.el,
    h(
      "div",
      { class: "d2lx-columns d2lx-forge" },
      h("div", {}, caption, bleu, matrix.el, legend, ...headings),
      h("div", {}, ...sides),
    ),
  );

  function draw() {
    const state = Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
    const shown = VIEWS.indexOf(state.view);
    view.set(shown);
    for (const group of [sides, headings])
      group.forEach((part, k) => {
        part.hidden = k !== shown;
      });
    const now = parts[shown].draw(state);
    caption.replaceChildren(now.caption[0], " → ", h("strong", {}, now.caption[1]));
    bleu.textContent = now.bleu;
    const setting = now.picture;
    const one = data.sentences[setting.sentence];
    // A row that has fallen out is hatched for the forger; a blind case never had it.
    const full = rowsOf(one, setting.shift);
    const rows = shown === 0 ? one.target.map((_, t) => t) : full;
    legend.textContent = now.gold ? "Outlines are gold links: solid sure, dashed possible." : "";
    const stars = setting.words && setting.words !== "all" ? asked(one, setting) : [];
    const goldOf = (/** @type {number} */ t, /** @type {number} */ i) => {
      const here = (/** @type {number[][]} */ links) => links.some(([a, b]) => a === i && b === t);
      return here(one.sure) ? "sure" : here(one.possible) ? "possible" : "";
    };
    matrix.set(picture(one, setting, rows), {
      mask: (row) => full.includes(rows[row]),
      rows: rows.map((t) => (stars.includes(t) ? `* ${one.target[t]}` : one.target[t])),
      columns: one.source,
      say(row, i) {
        const weight = one.weights[setting.drawn][rows[row] - setting.shift]?.[i];
        const link = now.gold && goldOf(rows[row], i);
        return [
          weight !== undefined && "as a share of full ink",
          // In a blind case the scale tells it, once it is opened.
          now.weights && weight !== undefined && `weight ${fixed(weight, 3)}`,
          link && `gold: ${link}`,
        ]
          .filter(Boolean)
          .join(", ");
      },
      over(layer, box) {
        const boxes = now.gold
          ? one.possible
              .filter(([, t]) => rows.includes(t))
              .map(([i, t]) => outline(box(rows.indexOf(t), i), goldOf(t, i) === "possible"))
          : [];
        layer.replaceChildren(...boxes.flat());
      },
    });
    announce(el, now.said);
  }
  return bind(model, [...STATE, ...AUDIT], draw).stop;
}

const places = (/** @type {string} */ name) => (x, get) =>
  whole(0, get("data")[name].length - 1)(x);
const inSteps = (x) =>
  within(0, 1 - 1 / STEPS)(x) && Math.abs(x * STEPS - Math.round(x * STEPS)) < 1e-6;

const listOf = (/** @type {(x: any) => boolean} */ fits) => (list, get) =>
  Array.isArray(list) && list.length <= get("data").cases.length && list.every(fits);

export default {
  render,
  rebuild: ["data"],
  // Not the answers: whoever gets a link judges for themselves.
  share: {
    view: oneOf(VIEWS),
    sentence: places("sentences"),
    drawn: whole(0, 1),
    shift: whole(-1, 1),
    threshold: inSteps,
    darkest: within(1 / STEPS, 1),
    case: places("cases"),
    gold: () => true,
  },
  keep: keeping({
    answers: listOf((x) => x === "" || Object.hasOwn(SUPPORTED, x)),
    opened: listOf((x) => x === "" || (Array.isArray(x) && x.every((one) => PIECES.includes(one)))),
  }),
};
