import {
  announce,
  attr,
  begin,
  bind,
  choice,
  clip,
  dot,
  entropy,
  fixed,
  formulaLine,
  h,
  headLine,
  heatmap,
  larger,
  onWidth,
  plot,
  pool,
  predictFirst,
  presets,
  reader,
  readout,
  readoutRow,
  resetButton,
  show,
  slider,
  softmax,
  toolRow,
  update,
  within,
} from "./kit/index.js";

const LOUDEST = 8;
const BRIGHTEST = 4;

// Scores: what the query asks for, as strongly as it speaks, plus what stands out by itself.
const partsOf = (state, ask) =>
  state.matches.map((key, i) => [state.strength * key[ask], state.salience[i]]);
const weightsFor = (state, ask) => softmax(partsOf(state, ask).map(([a, b]) => a + b));

function render({ model, el }) {
  begin(el, "Cue mixer");
  const moved = ["salience", "ask", "strength"];
  const read = reader(model, ["items", "asks", "matches", "values", ...moved]);
  const start = read();
  const { items, asks, values } = start;

  const strength = slider({
    ...{ label: "How strongly the query speaks", min: 0, max: LOUDEST, step: 0.1 },
    value: start.strength,
    oninput: (x) => update(model, { strength: x }),
  });
  const ask = choice({
    label: "The query asks for something",
    options: asks,
    value: start.ask,
    onchange: (index) => update(model, { ask: index }),
  });

  // What a look has to give is one strip, always as long: who gets more leaves less to the others.
  const strip = h("div", { class: "d2lx-shares", "aria-hidden": "true" });
  const shares = items.map((item) => {
    const name = h("bdi", {}, clip(item, 24));
    const [number, el] = [h("span"), h("div")];
    el.append(name, number);
    strip.append(el);
    return { el, name, number, long: Math.max(4, clip(item, 24).length) };
  });
  let long = 320;
  onWidth(strip, (now) => {
    long = now / larger();
    live?.redraw();
  });

  // One row a thing: its score, split into what the query and what the thing adds, and its weight.
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
    h("span", {}, "and the weight α that softmax makes of each"),
  );
  const edit = h(
    "details",
    {},
    h("summary", {}, "Change what stands out by itself (salience)"),
    ...rows.map((row) => row.stands.el),
  );

  const matrix = heatmap({
    label: "Attention weights for every question",
    ...{ rows: asks, columns: items, rowTitle: "query", columnTitle: "item", cellHeight: 26 },
  });
  const pooled = readout("Pooled value Σ α v", "pooled");
  const spread = readout("Entropy (nats)", "entropy");
  const formula = formulaLine();
  const line = plot({
    ...{
      label: "The values and where the pooled value falls",
      height: 74,
      xLabel: "value",
      pad: 16,
    },
    onresize: () => live?.redraw(),
  });
  const dots = pool(line.data, "circle", {
    fill: "var(--d2lx-green)",
    stroke: "var(--d2lx-line)",
  });
  const arrow = pool(line.data, "path", { stroke: "var(--d2lx-ink)", "stroke-width": 3 });
  const results = readoutRow(pooled.el, spread.el);
  const below = h("div", {}, headLine("All questions at this strength"), matrix.el);
  const span = [Math.min(...values), Math.max(...values)];
  if (span[0] === span[1]) span[1] = span[0] + 1;

  // The thing that catches the eye: what is its share of the look?
  const salience = (model.first ?? model.get)("salience");
  const eye = salience.indexOf(Math.max(...salience));
  const predict = predictFirst({
    question: `From the matches, the saliences and the strength: which share of the look will ${clip(items[eye], 40)} get?`,
    label: "Your guess: its weight α",
    ...{ min: 0, max: 1, step: 0.01 },
    answer: () => weightsFor(read(), model.get("ask"))[eye],
    covered: [results, formula, below, line.el, strip, ...rows.map((row) => row.data)],
    onchange: () => live.redraw(),
  });
  const none = items.map(() => 0);
  const tools = toolRow(
    ...presets(model, [
      ["No cues", { strength: 0, salience: none }],
      ["Salience only", { strength: 0, salience }],
      ["Query speaks", { strength: 6, salience }],
    ]),
    resetButton(model, moved, predict.stop),
  );
  el.append(
    ...[ask.el, strip, strength.el, tools, results, line.el, predict.el],
    ...[key, mix, edit, formula, below],
  );

  function draw() {
    const state = read();
    const parts = partsOf(state, state.ask);
    const weights = weightsFor(state, state.ask);
    const mean = dot(weights, values);
    strength.set(state.strength);
    ask.set(state.ask);
    rows.forEach((row, i) => {
      row.stands.set(state.salience[i]);
      row.match.textContent = `q·k = ${fixed(state.matches[i][state.ask])}`;
      const [query, salience] = parts[i].map((part) => (100 * Math.max(0, part)) / widest);
      row.query.style.width = `${query}%`;
      row.salience.style.width = `${salience}%`;
      const { el: share, name, number, long: letters } = shares[i];
      share.style.width = `${100 * weights[i]}%`;
      // What has no room in its share is told below.
      const room = weights[i] * long - 8;
      name.hidden = room < 7.5 * letters;
      number.textContent = room < 30 ? "" : fixed(weights[i]);
      show(row.data, weights[i], 3);
    });
    pooled.set(mean);
    spread.set(entropy(weights));
    matrix.set(
      asks.map((_, j) => weightsFor(state, j)),
      { row: state.ask },
    );

    const most = weights.indexOf(Math.max(...weights));
    const score = (i) =>
      `${fixed(state.strength, 1)} × ${fixed(state.matches[i][state.ask])} + ${fixed(state.salience[i], 1)}`;
    const name = h("bdi", {}, clip(items[most], 40));
    formula.replaceChildren(
      "α(",
      name,
      `) = exp(${score(most)}) / Σ exp(…) = ${fixed(weights[most], 3)}`,
    );
    const room = 0.1 * (span[1] - span[0]);
    line.limits([span[0] - room, span[1] + room], [0, 1]);
    dots(values.length).forEach((dot_, i) => {
      attr(dot_, { cx: line.X(values[i]), cy: line.Y(0) - 10, r: 2 + 9 * Math.sqrt(weights[i]) });
    });
    attr(arrow(1)[0], { d: `M${line.X(mean)} ${line.Y(0)}V8` });
    announce(
      el,
      `Pooled value ${fixed(mean)}. Largest weight ${fixed(weights[most])}, ${clip(items[most], 40)}.`,
    );
  }
  const live = bind(model, moved, draw);
  for (const name of moved) model.on(`change:${name}`, predict.refresh);
  return live.stop;
}

export default {
  render,
  rebuild: ["items", "asks", "matches", "values"],
  share: {
    strength: within(0, LOUDEST),
    salience: within(0, BRIGHTEST),
    ask: (x, get) => Number.isInteger(x) && x >= 0 && x < get("asks").length,
  },
};
