import {
  announce,
  attr,
  bars,
  begin,
  bind,
  choice,
  dot,
  entropy,
  fixed,
  h,
  heatmap,
  plot,
  pool,
  predictFirst,
  presets,
  reader,
  readout,
  resetButton,
  slider,
  softmax,
  update,
} from "./kit/index.js";

// Scores: what the query asks for, as strongly as it speaks, plus what stands out by itself.
const weightsFor = (state, ask) =>
  softmax(state.matches.map((key, i) => state.strength * key[ask] + state.salience[i]));

function render({ model, el }) {
  begin(el, "Cue mixer");
  const names = ["items", "asks", "matches", "values", "salience", "ask", "strength"];
  const read = reader(model, names);
  const start = read();
  const none = start.items.map(() => 0);

  const strength = slider({
    label: "How strongly the query speaks",
    min: 0,
    max: 8,
    step: 0.1,
    value: start.strength,
    oninput: (x) => update(model, { strength: x }),
  });
  const ask = choice({
    label: "The query asks for something",
    options: start.asks,
    value: start.ask,
    onchange: (index) => update(model, { ask: index }),
  });
  const saliences = start.items.map((item, i) =>
    slider({
      label: item,
      min: 0,
      max: 4,
      step: 0.1,
      value: start.salience[i],
      oninput: (x) =>
        update(model, { salience: model.get("salience").map((old, j) => (j === i ? x : old)) }),
    }),
  );

  const weightBars = bars({ label: "Attention weights" });
  const matrix = heatmap({
    label: "Attention weights for every question",
    rows: start.asks,
    columns: start.items,
    rowTitle: "query",
    columnTitle: "item",
    cellHeight: 26,
  });
  const pooled = readout("Pooled value Σ α v", "pooled");
  const spread = readout("Entropy (nats)", "entropy");
  const formula = h("p", { class: "d2lx-formula" });
  const line = plot({
    label: "The values and where the pooled value falls",
    height: 74,
    xLabel: "value",
    pad: 16,
    onresize: () => live?.redraw(),
  });
  const dots = pool(line.data, "circle", { fill: "var(--d2lx-blue)", stroke: "var(--d2lx-line)" });
  const arrows = pool(line.data, "path");
  const results = h(
    "div",
    {},
    weightBars.el,
    h("div", { class: "d2lx-readouts" }, pooled.el, spread.el),
    formula,
  );
  const below = h(
    "div",
    {},
    h("div", { class: "d2lx-head" }, "All questions at this strength"),
    matrix.el,
  );
  const span = [Math.min(...start.values), Math.max(...start.values)];
  if (span[0] === span[1]) span[1] = span[0] + 1;
  const predict = predictFirst({
    question: "Which value will come out, if the query speaks so strongly?",
    label: "Your guess: the pooled value",
    min: span[0],
    max: span[1],
    step: (span[1] - span[0]) / 80,
    answer: () => dot(weightsFor(read(), model.get("ask")), model.get("values")),
    covered: [results, below, line.data],
    onchange: () => live.redraw(),
  });

  const tools = h(
    "div",
    { class: "d2lx-tools" },
    ...presets(model, [
      ["No cues", { strength: 0, salience: none }],
      ["Salience only", { strength: 0, salience: start.salience }],
      ["Query speaks", { strength: 6, salience: start.salience }],
    ]),
    resetButton(model, names),
  );
  el.append(
    h(
      "div",
      { class: "d2lx-columns" },
      h(
        "div",
        {},
        ask.el,
        strength.el,
        h(
          "fieldset",
          {},
          h("legend", {}, "Salience: what stands out by itself"),
          ...saliences.map((one) => one.el),
        ),
        tools,
        predict.el,
      ),
      h(
        "div",
        {},
        h("div", { class: "d2lx-head" }, "Attention weights α"),
        results,
        line.el,
        below,
      ),
    ),
  );

  function draw() {
    const state = read();
    const { items, asks, values } = state;
    const weights = weightsFor(state, state.ask);
    const mean = dot(weights, values);
    strength.set(state.strength);
    ask.set(state.ask);
    saliences.forEach((one, i) => one.set(state.salience[i]));
    weightBars.set(weights, items);
    pooled.set(mean);
    spread.set(entropy(weights));
    matrix.set(
      asks.map((_, j) => weightsFor(state, j)),
      { rows: asks, columns: items, row: state.ask },
    );

    const most = weights.indexOf(Math.max(...weights));
    const score = (i) =>
      `${fixed(state.strength, 1)} × ${fixed(state.matches[i][state.ask])} + ${fixed(state.salience[i], 1)}`;
    const name = h("bdi", {}, items[most].slice(0, 40));
    formula.replaceChildren(
      "α(",
      name,
      `) = exp(${score(most)}) / Σ exp(…) = ${fixed(weights[most], 3)}`,
    );

    line.limits([span[0] - 0.1 * (span[1] - span[0]), span[1] + 0.1 * (span[1] - span[0])], [0, 1]);
    dots(values.length).forEach((dot_, i) => {
      attr(dot_, { cx: line.X(values[i]), cy: line.Y(0) - 10, r: 2 + 9 * Math.sqrt(weights[i]) });
    });
    const marks = [mean, predict.guess()].filter((x) => x !== null);
    arrows(marks.length).forEach((arrow, i) => {
      arrow.setAttribute("d", `M${line.X(marks[i])} ${line.Y(0)}V8`);
      arrow.setAttribute("stroke", i ? "var(--d2lx-orange)" : "var(--d2lx-ink)");
      arrow.setAttribute("stroke-width", "3");
      arrow.setAttribute("stroke-dasharray", i ? "4 3" : "none");
    });
    announce(
      el,
      `Pooled value ${fixed(mean)}. Largest weight ${fixed(weights[most])}, ${items[most].slice(0, 40)}.`,
    );
  }
  const live = bind(model, names, draw);
  names.forEach((name) => model.on(`change:${name}`, predict.refresh));
  return live.stop;
}

export default { render, rebuild: ["items", "asks", "matches", "values"] };
