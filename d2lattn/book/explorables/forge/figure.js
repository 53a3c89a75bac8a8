import {
  announce,
  begin,
  bind,
  fixed,
  h,
  heatmap,
  noteLine,
  onCanvas,
  outlined,
  weightsOf,
  whole,
  within,
} from "../kit/index.js";
import { picture, rowsOf, STEPS } from "./evidence.js";
import { forging } from "./forging.js";

const STATE = ["sentence", "drawn", "shift", "threshold", "darkest", "gold"];

// Shorter to write: weights come in ten-thousandths, where most are 0 as { place: weight }, and
// possible links without the sure ones.
const unpack = (one) => ({
  ...one,
  weights: one.weights.map((rows) => rows.map((row) => weightsOf(row, one.source.length))),
  possible: [...one.sure, ...one.possible],
});

const outline = ({ x, y, width, height }, kind) =>
  outlined(
    { x: x + 2, y: y + 2, width: width - 4, height: height - 4 },
    kind,
    kind === "sure" ? null : "3 3",
  );

function render({ model, el }) {
  begin(el, "Forge a picture");
  const given = model.get("data");
  const data = { ...given, sentences: given.sentences.map(unpack) };
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
  const part = forging(model, data);
  el.append(
    h(
      "div",
      { class: "d2lx-columns d2lx-forge" },
      h("div", {}, caption, bleu, matrix.el, legend, part.heading),
      h("div", {}, h("div", {}, part.controls, part.results)),
    ),
  );

  function draw() {
    const state = Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
    const now = part.draw(state);
    caption.replaceChildren(now.caption[0], " → ", h("strong", {}, now.caption[1]));
    bleu.textContent = now.bleu;
    const setting = /** @type {any} */ (state);
    const one = data.sentences[setting.sentence];
    // A row that has fallen out is hatched.
    const full = rowsOf(one, setting.shift);
    const rows = one.target.map((_, t) => t);
    legend.textContent = setting.gold
      ? "Outlines are gold links: solid sure, dashed possible."
      : "";
    const goldOf = (/** @type {number} */ t, /** @type {number} */ i) => {
      const here = (/** @type {number[][]} */ links) => links.some(([a, b]) => a === i && b === t);
      return here(one.sure) ? "sure" : here(one.possible) ? "possible" : "";
    };
    matrix.set(picture(one, setting, rows), {
      mask: (row) => full.includes(rows[row]),
      rows: one.target,
      columns: one.source,
      say(row, i) {
        const weight = one.weights[setting.drawn][rows[row] - setting.shift]?.[i];
        const link = setting.gold && goldOf(rows[row], i);
        return [
          weight !== undefined && "as a share of the darkest colour",
          weight !== undefined && `weight ${fixed(weight, 3)}`,
          link && `gold: ${link}`,
        ]
          .filter(Boolean)
          .join(", ");
      },
      over(layer, box) {
        const boxes = setting.gold
          ? one.possible
              .filter(([, t]) => rows.includes(t))
              .map(([i, t]) => outline(box(rows.indexOf(t), i), goldOf(t, i)))
          : [];
        layer.replaceChildren(...boxes.flat());
      },
    });
    announce(el, now.said);
  }
  return bind(model, STATE, draw).stop;
}

const places = (/** @type {string} */ name) => (x, get) =>
  whole(0, get("data")[name].length - 1)(x);
const inSteps = (x) =>
  within(0, 1 - 1 / STEPS)(x) && Math.abs(x * STEPS - Math.round(x * STEPS)) < 1e-6;

export default {
  render,
  rebuild: ["data"],
  share: {
    sentence: places("sentences"),
    drawn: whole(0, 1),
    shift: whole(-1, 1),
    threshold: inSteps,
    darkest: within(1 / STEPS, 1),
    gold: () => true,
  },
};
