import {
  announce,
  attr,
  begin,
  bind,
  clamp,
  clip,
  dot,
  draggable,
  entropy,
  fixed,
  formulaLine,
  h,
  headLine,
  heatmap,
  knobs,
  larger,
  more,
  noteLine,
  onWidth,
  plot,
  predictFirst,
  presets,
  reader,
  readout,
  readoutRow,
  resetButton,
  s,
  show,
  slider,
  softmax,
  stroke,
  toolRow,
  update,
  within,
} from "../kit/index.js";

const LOUDEST = 8;
const BRIGHTEST = 4;

// Scores: the match of query and key times the strength of the query, plus the salience.
const partsOf = (state, query) =>
  state.matches.map((key, i) => [state.strength * key[query], state.salience[i]]);
const weightsFor = (state, query) => softmax(partsOf(state, query).map(([a, b]) => a + b));

function render({ model, el }) {
  begin(el, "Cue mixer");
  const moved = ["salience", "query", "strength", "values"];
  const read = reader(model, ["items", "queries", "matches", ...moved]);
  const start = read();
  const { items, queries } = start;

  const { number, pick, sync } = knobs(model);
  const strength = number("strength", "Strength of the query", 0, LOUDEST, { step: 0.1 });
  const choice = pick("query", "Query", queries);

  // The weights add up to 1, so they share one strip of fixed length.
  const strip = h("div", { class: "d2lx-shares", role: "img" });
  const shares = items.map((item) => {
    const name = h("bdi", {}, clip(item, 24));
    const [number, el] = [h("span"), h("div", { "aria-hidden": "true" })];
    el.append(name, number);
    strip.append(el);
    return { el, name, number, long: Math.max(4, clip(item, 24).length) };
  });
  // A name of some length has no room in a small share, unless it stands upright.
  const longest = Math.max(...shares.map((share) => share.long));
  const tall = longest > 5;
  if (tall) strip.style.height = `${3 + 0.45 * Math.min(longest, 10)}rem`;
  let long = 320;
  onWidth(strip, (now) => {
    long = now / larger();
    live?.redraw();
  });

  // A row for each thing: its score, in the parts of the query and of the salience, and its weight.
  const widest = Math.max(LOUDEST * Math.max(0, ...start.matches.flat()) + BRIGHTEST, BRIGHTEST);
  const rows = items.map((item, i) => {
    const bar = (kind) => h("span", { class: kind });
    const [query, salience] = ["d2lx-by-query", "d2lx-by-salience"].map(bar);
    const match = h("span", {});
    const data = h("data", { "data-name": `bar-${i}` });
    const stands = slider({
      ...{ label: clip(item, 24), min: 0, max: BRIGHTEST, step: 0.1, value: start.salience[i] },
      text: (x) => fixed(x, 1),
      oninput: (x) =>
        update(model, { salience: model.get("salience").map((old, j) => (j === i ? x : old)) }),
    });
    stands.input.setAttribute("aria-label", `Salience of ${clip(item, 60)}`);
    const name = h("span", { class: "d2lx-name", dir: "auto", title: clip(item, 200) });
    name.append(clip(item, 24));
    const score = h("span", { class: "d2lx-track" }, query, salience);
    const thing = h("div", { class: "d2lx-thing" }, h("bdi", {}, name), match);
    return {
      ...{ match, stands, query, salience, data },
      el: h("div", { role: "listitem" }, thing, score, data),
    };
  });
  const mix = h("div", { class: "d2lx-mix", role: "list", "aria-label": "Scores and weights" });
  mix.append(...rows.map((row) => row.el));
  const swatch = (kind, text) => h("span", {}, h("i", { class: kind }), text);
  const key = readoutRow(
    h("b", {}, "Scores:"),
    swatch("d2lx-by-query", "strength × match q·k"),
    swatch("d2lx-by-salience", "+ salience"),
    h("span", {}, "and the weight α that softmax computes from each"),
  );
  const edit = h(
    "div",
    {},
    headLine("Salience: added to the score for every query"),
    ...rows.map((row) => row.stands.el),
  );

  const matrix = heatmap({
    label: "Attention weights for every query",
    ...{ rows: queries, columns: items, rowTitle: "query", columnTitle: "item", cellHeight: 26 },
  });
  const pooled = readout("Pooled value", "pooled");
  const spread = readout("Entropy (nats)", "entropy");
  const spreadNote = noteLine(
    `Entropy: 0 when one thing has all the weight, ${fixed(Math.log(items.length))} when all have the same weight. Its unit is the nat.`,
  );
  const formula = formulaLine();
  const line = plot({
    label: "The values and the pooled value",
    ...{ height: 92, xLabel: "value", pad: 16, onresize: () => live?.redraw() },
  });
  const arrow = stroke("ink", 3);
  line.data.append(arrow);
  // The axis holds the values of the page and keeps still while one is moved along it.
  const of = (model.first ?? model.get)("values");
  const span = [Math.min(...of, ...start.values), Math.max(...of, ...start.values)];
  if (span[0] === span[1]) span[1] = span[0] + 1;
  const ends = [-0.1, 1.1].map((t) => span[0] + t * (span[1] - span[0]));
  const step = 10 ** Math.floor(Math.log10((span[1] - span[0]) / 10));
  const dots = items.map((item, i) => {
    const shape = s("circle", { fill: "var(--d2lx-green)", stroke: "var(--d2lx-line)" });
    const name = s("text", { class: "d2lx-tick", "text-anchor": "middle" }, clip(item, 12));
    const mover = draggable(line, shape, {
      label: `Value of ${clip(item, 60)}`,
      step: () => [step, 0],
      onmove(x) {
        const to = clamp(Number((Math.round(x / step) * step).toPrecision(9)), ends[0], ends[1]);
        update(model, { values: model.get("values").map((old, j) => (j === i ? to : old)) });
      },
    });
    line.data.append(name, mover.el);
    return { shape, name, mover, wide: 7 * clip(item, 12).length + 6 };
  });
  const numbers = readoutRow(pooled.el);
  const results = readoutRow(spread.el);
  const below = h("div", {}, headLine("All queries at this strength"), matrix.el);

  // The thing with the largest salience is the one to guess.
  const salience = (model.first ?? model.get)("salience");
  const eye = salience.indexOf(Math.max(...salience));
  const predict = predictFirst({
    question: `Given the matches, the saliences and the strength: which weight will ${clip(items[eye], 40)} get?`,
    label: "Your guess: its weight α",
    ...{ min: 0, max: 1, step: 0.01 },
    answer: () => weightsFor(read(), model.get("query"))[eye],
    covered: [numbers, results, formula, below, line.el, strip, ...rows.map((row) => row.data)],
    onchange: () => live.redraw(),
  });
  const none = items.map(() => 0);
  const settings = toolRow(
    ...presets(model, [
      ["No cues", { strength: 0, salience: none }],
      ["Salience only", { strength: 0, salience }],
      ["Strong query", { strength: 6, salience }],
    ]),
  );
  // A page may fold more.
  const [brief, alone] = [model.get("brief"), model.get("alone")];
  const rest = [
    noteLine(
      "Dots: the values; the larger a dot, the larger its weight. Upright line: the pooled value. Drag a dot, or use the arrow keys, to change its value.",
    ),
    toolRow(resetButton(model, moved, predict.stop)),
  ];
  const folded = brief ? ["strength"] : alone ? ["values"] : [];
  const fold = more(
    model,
    ["salience", ...folded],
    [
      ...(brief ? [strength.el, ...rest] : alone ? [numbers, line.el, ...rest] : []),
      ...[key, mix, edit, settings, predict.el, formula, below, results, spreadNote],
    ],
  );
  if (brief || alone) fold.classList.add("d2lx-brief");
  el.append(
    ...[choice.el, headLine("Weights: the share of each thing"), strip],
    ...(brief ? [] : [strength.el]),
    ...(alone ? [] : [numbers, line.el]),
    ...(brief || alone ? [] : rest),
    fold,
  );

  function draw() {
    const state = read();
    const parts = partsOf(state, state.query);
    const weights = weightsFor(state, state.query);
    const { values } = state;
    const mean = dot(weights, values);
    attr(strip, {
      "aria-label": weights.map((w, i) => `${clip(items[i], 60)} ${fixed(w)}`).join(", "),
    });
    sync(state);
    rows.forEach((row, i) => {
      row.stands.set(state.salience[i]);
      row.match.textContent = `q·k = ${fixed(state.matches[i][state.query])}`;
      const [query, salience] = parts[i].map((part) => (100 * Math.max(0, part)) / widest);
      row.query.style.width = `${query}%`;
      row.salience.style.width = `${salience}%`;
      const { el: share, name, number, long: letters } = shares[i];
      share.style.width = `${100 * weights[i]}%`;
      // A number without room in its share stands under More.
      const room = weights[i] * long - 8;
      const upright = tall && room > 10 && room < Math.max(30, 7.5 * letters) && letters <= 10;
      share.classList.toggle("d2lx-upright", upright);
      name.hidden = !upright && room < 7.5 * letters;
      number.textContent = !upright && room < 30 ? "" : fixed(weights[i]);
      show(row.data, weights[i], 3);
    });
    pooled.set(mean);
    spread.set(entropy(weights));
    matrix.set(
      queries.map((_, j) => weightsFor(state, j)),
      { row: state.query },
    );

    const most = weights.indexOf(Math.max(...weights));
    const score = (i) =>
      `${fixed(state.strength, 1)} × ${fixed(state.matches[i][state.query])} + ${fixed(state.salience[i], 1)}`;
    const name = h("bdi", {}, clip(items[most], 40));
    formula.replaceChildren(
      "α(",
      name,
      `) = exp(${score(most)}) / Σ exp(…) = ${fixed(weights[most], 3)}`,
    );
    line.limits(ends, [0, 1]);
    // Names stand over the dots as long as none runs into another.
    const places = values
      .map((value, i) => [line.X(value), dots[i].wide])
      .sort((a, b) => a[0] - b[0]);
    const apart = places.every(
      ([x, wide], k) => !k || x - places[k - 1][0] > (wide + places[k - 1][1]) / 2,
    );
    dots.forEach(({ shape, name, mover }, i) => {
      attr(shape, { r: 2 + 9 * Math.sqrt(weights[i]), cy: -12 });
      mover.place(values[i], 0, fixed(values[i]), ends);
      attr(name, { x: line.X(values[i]), y: line.Y(0) - 30, visibility: apart ? null : "hidden" });
    });
    attr(arrow, { d: `M${line.X(mean)} ${line.Y(0) + 5}v-30` });
    announce(
      el,
      `Pooled value ${fixed(mean)}. Largest weight ${fixed(weights[most])}, ${clip(items[most], 40)}.`,
    );
  }
  const live = bind(model, moved, draw, predict.refresh);
  return live.stop;
}

export default {
  render,
  rebuild: ["items", "queries", "matches", "brief", "alone"],
  share: {
    strength: within(0, LOUDEST),
    salience: within(0, BRIGHTEST),
    values: within(-1e9, 1e9),
    query: (x, get) => Number.isInteger(x) && x >= 0 && x < get("queries").length,
  },
};
