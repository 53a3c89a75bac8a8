import {
  announce,
  attr,
  begin,
  bind,
  columns,
  disc,
  draggable,
  fixed,
  formulaLine,
  h,
  headLine,
  knobs,
  linspace,
  more,
  noteLine,
  oneOf,
  plot,
  predictFirst,
  reader,
  readout,
  readoutRow,
  resetButton,
  s,
  show,
  stroke,
  toolRow,
  update,
  whole,
} from "../kit/index.js";
import { SPEEDS, scored, WAYS } from "./arithmetic.js";
import { MOST, together } from "./together.js";

const [FAR, REACH, ASKS] = [24, 6, 3];
const NAMES = ["way", "place", "distance", "ahead"];
const SAID = ["rotated (rotary)", "added (sinusoids)", "none"];
const DEGREES = SPEEDS.map((speed) => Math.round((speed * 180) / Math.PI));

/** A face with the hand of the query and that of the key: { el, set }. @param {number} j */
function clock(j) {
  const [query, key] = [stroke("blue", 4), stroke("orange", 4)];
  const start = stroke("line", 1, { d: "M0 0H66", "stroke-dasharray": "3 4" });
  const rim = s("circle", { r: 44, fill: "none", stroke: "var(--d2lx-line)" });
  const tips = ["q", "k"].map((name) =>
    s("text", { class: "d2lx-tick", "text-anchor": "middle" }, name),
  );
  const svg = s("svg", { viewBox: "-98 -84 196 168", "aria-hidden": "true" });
  svg.append(rim, start, key, query, ...tips);
  const words = h("data", { "data-name": `product-${j}` });
  const speed = `${DEGREES[j]}° per position: `;
  const el = h("div", {}, svg, h("p", {}, j ? `a second pair, ${speed}` : speed, words));
  // A hand of length 2 ends on the rim; y goes up, as in a formula.
  const spot = (/** @type {number[]} */ [x, y], by = 22) => [x * by, -y * by];
  const line = (/** @type {number[]} */ hand) =>
    spot(hand)
      .map((x) => x.toFixed(2))
      .join(" ");
  /** @type {(q: number[], k: number[], found: number) => void} */
  const set = (q, k, found) => {
    attr(query, { d: `M0 0L${line(q)}` });
    attr(key, { d: `M0 0L${line(k)}` });
    [q, k].forEach((one, i) => {
      const long = Math.hypot(...one) || 1;
      const [x, y] = spot(one, 22 + (i ? 11 : 22) / long);
      attr(tips[i], { x: x.toFixed(2), y: (y + 4).toFixed(2) });
    });
    attr(words, { value: found }).replaceChildren(`q·k = ${fixed(found)}`);
  };
  return { el, set, words };
}

function render({ model, el }) {
  const both = model.get("together");
  begin(el, both ? "Move both words" : "Turning clock");
  if (both) return together(model, el);
  const read = reader(model, NAMES);
  const inWhole = (/** @type {number} */ x) => String(Math.round(x)).replace("-", "−");
  const { count, pick, sync } = knobs(model);
  const way = pick("way", "Positions", SAID, WAYS);
  const place = count("place", "Position of the query", 0, FAR);
  const distance = count("distance", "Distance to the key", -REACH, REACH);
  const ahead = count("ahead", "Distance at which the two fit best", -ASKS, ASKS);

  const faces = SPEEDS.map((_, j) => clock(j));
  const chart = plot({
    label: "Score by distance",
    height: 190,
    xLabel: "distance of the key",
    yLabel: "score",
    onresize: () => live?.redraw(),
  });
  const [here, atZero] = [stroke("ink", 2.5), stroke("muted", 2.5, { "stroke-dasharray": "2 6" })];
  const spot = disc(7, "ink");
  const mover = draggable(chart, spot, {
    label: "Distance to the key",
    step: () => [1, 0],
    onmove: (x) => update(model, { distance: Math.max(-REACH, Math.min(REACH, Math.round(x))) }),
  });
  chart.data.append(atZero, here, mover.el);
  const [now, first] = [readout("Score", "score"), readout("With the query at 0", "first")];
  // Lowest and highest score since anything but the place has changed.
  const range = ["lowest", "highest"].map((name) => h("data", { "data-name": name }));
  const seen = h("p", {}, "So far between ", range[0], " and ", range[1]);
  let [lane, low, high] = ["", 0, 0];
  const formula = formulaLine();
  const further = h("div", {}, readoutRow(now.el, first.el), seen, formula);
  const predict = predictFirst({
    question:
      "Without positions, all pairs of q and k have length 2. What is the score of these arrows?",
    label: "Your guess: the score",
    ...{ min: -5, max: 10, step: 0.1 },
    answer: () => scored(/** @type {any} */ (read())).score,
    covered: [further, chart.el, ...faces.map((face) => face.words)],
    onchange: () => live.redraw(),
  });
  const tools = toolRow(
    resetButton(model, NAMES, () => {
      lane = "";
      predict.stop();
    }),
  );
  el.append(
    columns({
      result: [
        headLine("The pairs of a query (q) and of a key (k)"),
        h("div", { class: "d2lx-turning" }, faces[0].el),
      ],
      controls: [distance.el, tools],
    }),
    more(
      model,
      ["way", "place", "ahead"],
      [
        columns({
          result: [h("div", { class: "d2lx-turning" }, faces[1].el), further],
          controls: [way.el, place.el, ahead.el, predict.el],
          more: [
            chart.el,
            noteLine(
              "The score is the sum of both dot products, divided by √4. The curve shows it at each distance from this position, the dots from position 0. Drag the point, or use the arrow keys.",
            ),
          ],
        }),
      ],
    ),
  );
  const distances = linspace(-REACH, REACH, 121);

  function draw() {
    const state = /** @type {any} */ (read());
    sync(state);
    const { query, key, products, score } = scored(state);
    faces.forEach((face, j) => face.set(query[j], key[j], products[j]));
    const along = (/** @type {number} */ from) =>
      distances.map((d) => [d, scored({ ...state, place: from, distance: d }).score]);
    chart.limits([-REACH - 0.3, REACH + 0.3], state.way === "added" ? [-5, 10] : [-5, 5]);
    chart.path(here, along(state.place));
    chart.path(atZero, along(0));
    const at0 = scored({ ...state, place: 0 }).score;
    now.set(score);
    const before = lane;
    lane = [state.way, state.distance, state.ahead].join();
    [low, high] = before === lane ? [Math.min(low, score), Math.max(high, score)] : [score, score];
    [low, high].forEach((x, i) => show(range[i], x, 2));
    first.set(at0);
    const told = predict.hidden() ? "" : `, score ${fixed(score)}`;
    mover.place(state.distance, score, inWhole(state.distance) + told, [-REACH, REACH]);
    formula.textContent =
      `(${products.map((x) => fixed(x)).join(" + ")}) / √4 = ${fixed(score)}`.replaceAll(
        "+ −",
        "− ",
      );
    announce(el, `Score ${fixed(score)}; from position 0 ${fixed(at0)}`);
  }
  const live = bind(model, NAMES, draw, predict.refresh);
  return live.stop;
}

export default {
  render,
  rebuild: ["together"],
  share: {
    moved: whole(0, MOST),
    way: oneOf(WAYS),
    place: whole(0, FAR),
    distance: whole(-REACH, REACH),
    ahead: whole(-ASKS, ASKS),
  },
};
