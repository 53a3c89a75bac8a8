import {
  announce,
  attr,
  begin,
  bind,
  clamp,
  columns,
  dot,
  draggable,
  fixed,
  formulaLine,
  h,
  heatmap,
  kernelPrediction,
  kernels,
  kernelWeights,
  knobs,
  leaveOneOutError,
  linspace,
  more,
  noteLine,
  oneOf,
  onKeys,
  plot,
  pool,
  predictFirst,
  reader,
  readout,
  readoutRow,
  resetButton,
  s,
  short,
  softmax,
  stroke,
  sum,
  toolRow,
  update,
  within,
} from "../kit/index.js";

const VIEWS = ["regression", "norms"];
const KINDS = ["gaussian", "boxcar", "epanechnikov", "triangular"];

// The second view lays the keys on a circle, by their x, and stretches every second one. Returns
// both weightings of the keys: the Gaussian of the distance, and softmax(q·k/h²).
function beyondOneDimension(/** @type {Record<string, any>} */ { xs, query, bandwidth, stretch }) {
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const angle = (x) => (2.6 * (x - (low + high) / 2)) / (high - low || 1);
  const on = (x, length) => [length * Math.cos(angle(x)), length * Math.sin(angle(x))];
  const q = on(query, 1);
  const keys = xs.map((x, i) => on(x, i % 2 ? stretch : 1));
  const squared = keys.map((k) => (q[0] - k[0]) ** 2 + (q[1] - k[1]) ** 2);
  const gaussian = softmax(squared.map((d) => -d / (2 * bandwidth ** 2)));
  const product = softmax(keys.map((k) => dot(q, k) / bandwidth ** 2));
  return { q, keys, gaussian, product };
}

function render({ model, el }) {
  begin(el, "Kernel regression");
  const names = ["xs", "ys", "query", "bandwidth", "kernel", "view", "stretch"];
  const read = reader(model, names);
  const start = read();
  const widest = (xs) => Math.max(...xs) - Math.min(...xs) || 1;
  // Of numbers that differ by hundreds, the whole part is enough.
  const digits = (xs) => (widest(xs) < 200 ? 3 : 0);
  const margin = (xs, part) =>
    /** @type {[number, number]} */ ([
      Math.min(...xs) - part * widest(xs),
      Math.max(...xs) + part * widest(xs),
    ]);
  // The axes stay still while points move inside them; Python may set some beyond.
  /** @type {[number, number][]} */
  let [xLimits, yLimits, step] = [
    [1, 0], // nothing lies between
    [1, 0],
    [0, 0],
  ];
  const inside = (limits) => (x) => x >= limits[0] && x <= limits[1];
  function fit(/** @type {Record<string, any>} */ { xs, ys, query }) {
    const along = [...xs, query];
    if (along.every(inside(xLimits)) && ys.every(inside(yLimits))) return;
    [xLimits, yLimits] = [margin(along, 0.06), margin(ys, 0.2)];
    step = [widest(xLimits) / 100, widest(yLimits) / 100];
    return true;
  }
  fit(start);
  let current = 0;

  const onresize = () => live?.redraw();
  const { number, pick, sync } = knobs(model);
  const reach = (xs) => /** @type {[number, number]} */ ([widest(xs) / 200, widest(xs) * 2]);
  const bandwidth = number("bandwidth", "Bandwidth h", ...reach(start.xs), {
    ...{ step: 0.05, log: true },
    text: (x) => fixed(x, x < 10 ? Math.max(1, digits(start.xs)) : digits(start.xs)),
  });
  const query = number("query", "Query x", ...xLimits, { step: step[0] });
  const kernel = pick("kernel", "Kernel K", KINDS, KINDS);
  const view = pick("view", "View", ["regression", "keys in the plane"], VIEWS);
  const stretch = number("stretch", "Length of every second key", 0.5, 2, { step: 0.05 });

  const chart = plot({
    label: "Data, fitted curve and prediction",
    height: 250,
    xLabel: "key, query",
    yLabel: "value",
    onresize,
  });
  const curve = s("path", { class: "d2lx-line" });
  const dropped = stroke("blue", 1, { "stroke-dasharray": "4 3" });
  const answer = s("circle", { r: 6, fill: "var(--d2lx-blue)" });
  const guessed = stroke("green", 3);
  const bell = s("path", {
    fill: "var(--d2lx-ink)",
    "fill-opacity": 0.22,
    stroke: "var(--d2lx-ink)",
  });
  const stems = s("g");
  const stem = pool(stems, "path", { stroke: "var(--d2lx-ink)", "stroke-width": 3 });
  const span = stroke("ink", 1.5);
  const spanName = s("text", { class: "d2lx-tick", "text-anchor": "middle" }, "bandwidth");
  const hidden = s("g", {}, stems, curve, dropped, answer);
  const pointGroup = s("g");
  const triangle = s("path", { d: "M0-12l9 16h-18z", fill: "var(--d2lx-blue)" });
  const moveQuery = draggable(chart, triangle, {
    label: "Query",
    step: () => [step[0], 0],
    onmove: (x) => update(model, { query: clamp(x, ...xLimits) }),
  });
  chart.data.append(bell, span, spanName, hidden, guessed, pointGroup, moveQuery.el);

  // Points are one tab stop: Page Up and Page Down go to the next.
  const points = [];
  function makePoints(n) {
    while (points.length > n) points.pop().mover.el.remove();
    while (points.length < n) {
      const i = points.length;
      const element = s("circle", { fill: "var(--d2lx-orange)", stroke: "var(--d2lx-paper)" });
      const onmove = (x, y) => {
        const put = (list, value) => list.map((old, j) => (j === i ? value : old));
        update(model, {
          xs: put(model.get("xs"), clamp(x, ...xLimits)),
          ys: put(model.get("ys"), clamp(y, ...yLimits)),
        });
      };
      const mover = draggable(chart, element, {
        label: `Point ${i + 1}`,
        step: () => step,
        onmove,
      });
      mover.el.addEventListener("focus", () => {
        current = i;
        points.forEach((point, j) => point.mover.el.setAttribute("tabindex", j === i ? 0 : -1));
      });
      onKeys(mover.el, (key) => {
        const to = { PageDown: i + 1, PageUp: i - 1 }[key];
        if (to === undefined) return;
        points[clamp(to, 0, points.length - 1)].mover.el.focus();
        return true;
      });
      pointGroup.append(mover.el);
      points.push({ element, mover });
    }
    current = Math.min(current, n - 1);
    points.forEach(({ mover }, j) => attr(mover.el, { tabindex: j === current ? 0 : -1 }));
  }

  const strip = heatmap({
    label: "Weights as one row of attention",
    rows: [""],
    columns: start.xs.map(String),
    rowTitle: "query",
    columnTitle: "key x",
    cellHeight: 24,
    labels: false,
  });
  const found = readout("Prediction at the query", "prediction", digits(start.ys));
  const loo = readout("Mean squared error, each point left out in turn (leave-one-out)", "loo");
  const formula = formulaLine();
  const plane = plot({
    label: "Keys and query in the plane",
    height: 230,
    xLabel: "first coordinate",
    yLabel: "second",
    onresize,
  });
  const rays = pool(plane.data, "path", { stroke: "var(--d2lx-orange)", "stroke-width": 2 });
  const asked = stroke("blue", 4);
  plane.data.append(asked);
  const pairs = plot({
    label: "Gaussian and dot-product weights",
    height: 120,
    yLabel: "weight",
    xLabel: "key",
    onresize,
  });
  const left = pool(pairs.data, "path", { stroke: "var(--d2lx-ink)" });
  const right = pool(pairs.data, "path", { stroke: "var(--d2lx-line)" });
  const gap = readout("Largest difference of weights", "gap", 6);

  const predicted = (state) =>
    kernelPrediction(state.query, state.xs, state.ys, state.bandwidth, state.kernel);
  const numbers = readoutRow(found.el);
  const hint = noteLine(
    "Points and query can be dragged (by keyboard: arrows, Page Up, Page Down).",
  );
  const results = h("div", {}, hint, strip.el, formula, loo.el);
  const predict = predictFirst({
    question:
      "Given the points, the bandwidth and the kernel: which value will be predicted at the query?",
    label: "Your guess: f(x)",
    min: yLimits[0],
    max: yLimits[1],
    step: step[1],
    answer: () => predicted(read()),
    covered: [hidden, numbers, results],
    onchange: () => live.redraw(),
  });
  const legend = noteLine(
    "Curve: the prediction for every query. Hump: the window. Bars: the height of the window over each point, which its weight is proportional to. The scale on the left is for points and curve only.",
  );
  const words = formulaLine();
  const key = noteLine(
    "The thick ray is the query, the others are keys. Of each two bars, the left one is the weight by the Gaussian of the distance, the right one that by softmax(q·k/h²).",
  );
  // What a view shows outside, and what it shows under More.
  const regression = [h("div", {}, chart.el, numbers, legend), results];
  const norms = [plane.el, h("div", {}, readoutRow(gap.el), key, pairs.el, words)];
  // Axes that had to grow, as for a link, are laid anew.
  const again = () => {
    predict.stop();
    [xLimits, yLimits] = [
      [1, 0],
      [1, 0],
    ];
  };
  const moved = names.filter((name) => name !== "view");
  const tools = toolRow(resetButton(model, moved, again));
  const fold = more(
    model,
    ["kernel", "view", "stretch"],
    [
      columns({
        result: [],
        controls: [query.el, kernel.el, view.el, stretch.el, predict.el],
        more: [regression[1], norms[1]],
      }),
    ],
    onresize,
  );
  el.append(columns({ result: [regression[0], norms[0]], controls: [bandwidth.el, tools] }), fold);

  function drawRegression(state) {
    const { xs, ys } = state;
    const weights = kernelWeights(state.query, xs, state.bandwidth, state.kernel);
    const prediction = weights.some((w) => w > 0) ? dot(weights, ys) : NaN;
    chart.limits(xLimits, yLimits);
    const along = linspace(...xLimits, 120);
    chart.path(
      curve,
      along.map((x) => [x, kernelPrediction(x, xs, ys, state.bandwidth, state.kernel)]),
    );
    makePoints(xs.length);
    // Whoever predicts sees and hears where the points are, and not what they weigh.
    const secret = predict.hidden();
    points.forEach(({ element, mover }, i) => {
      attr(element, { r: secret ? 5 : 4 + 5 * Math.sqrt(weights[i]) });
      const weight = secret ? "" : `, weight ${fixed(weights[i], 3)}`;
      mover.place(xs[i], ys[i], `x ${fixed(xs[i])}, y ${fixed(ys[i])}${weight}`, xLimits);
    });
    const [at, foot] = [chart.X(state.query), chart.Y(yLimits[0])];
    moveQuery.place(state.query, yLimits[0], `x ${fixed(state.query)}`, xLimits);
    const height = Number.isFinite(prediction) ? chart.Y(prediction) : foot;
    dropped.setAttribute("d", `M${at} ${foot}V${height}`);
    attr(answer, { cx: at, cy: height, visibility: Number.isFinite(prediction) ? null : "hidden" });
    const guess = predict.guess();
    guessed.setAttribute("d", guess === null ? "" : `M${at - 12} ${chart.Y(guess)}h24`);

    // The kernel stands at the query, as wide as the bandwidth; a point's weight is proportional to
    // the kernel's height above it. The scale cancels, so the drawing always has the same height.
    const { query: q, bandwidth: width } = state;
    const high = 0.45 * (yLimits[1] - yLimits[0]);
    const up = (x) =>
      yLimits[0] + (high * kernels[state.kernel]((x - q) / width)) / kernels[state.kernel](0);
    // Closely where it is steep, and at its corners.
    const reach = linspace(-4, 4, 161)
      .flatMap((u) => [u - 1e-9, u + 1e-9])
      .map((u) => q + u * width);
    const seen = [xLimits[0], ...reach.filter(inside(xLimits)), xLimits[1]];
    chart.path(bell, [
      [xLimits[0], yLimits[0]],
      ...seen.map((x) => [x, up(x)]),
      [xLimits[1], yLimits[0]],
    ]);
    attr(bell, { "data-query": q, "data-bandwidth": width });
    stem(xs.length).forEach((line, i) =>
      line.setAttribute("d", `M${chart.X(xs[i])} ${foot}V${chart.Y(up(xs[i]))}`),
    );
    const [end, over] = [clamp(q + width, ...xLimits), chart.Y(yLimits[0] + 1.12 * high)];
    span.setAttribute(
      "d",
      `M${at} ${over - 4}v8m0-4H${chart.X(end)}${end < q + width ? "" : "m0-4v8"}`,
    );
    attr(spanName, { x: (at + chart.X(end)) / 2, y: over - 5 });

    const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b]);
    strip.set([order.map((i) => weights[i])], { columns: order.map((i) => fixed(xs[i])) });
    found.set(prediction);
    // Each point from all others takes longer than all the rest.
    if (fold.open)
      loo.set(xs.length > 1 ? leaveOneOutError(xs, ys, state.bandwidth, state.kernel) : NaN);

    const heights = xs.map((x) => kernels[state.kernel]((state.query - x) / state.bandwidth));
    const fraction = `${short(dot(heights, ys))} / ${short(sum(heights))} = ${fixed(prediction, 3)}`;
    const f = `f(${fixed(state.query)})`;
    formula.textContent = sum(heights)
      ? `${f} = Σ K((x − xᵢ)/h) yᵢ / Σ K((x − xᵢ)/h) = ${fraction}`
      : state.kernel === "gaussian"
        ? `All K((x − xᵢ)/h) are too small to be written as numbers; the softmax of −((x − xᵢ)/h)²/2 gives ${f} = ${fixed(prediction, 3)}`
        : `No point lies within one bandwidth of the query: all K((x − xᵢ)/h) are 0, and ${f} has no value.`;
    announce(el, `Prediction ${fixed(prediction)}`);
  }

  function drawNorms(state) {
    const { q, keys, gaussian, product } = beyondOneDimension(state);
    // One unit is as long across as up.
    const half = (1.15 * plane.width()) / 230;
    const reach = Math.max(1, state.stretch) * 1.15;
    plane.limits([-half * reach + reach / 2, half * reach + reach / 2], [-reach, reach]);
    const ray = (/** @type {number[]} */ [x, y]) =>
      `M${plane.X(0)} ${plane.Y(0)}L${plane.X(x)} ${plane.Y(y)}`;
    rays(keys.length).forEach((line, i) =>
      attr(line, { d: ray(keys[i]), "stroke-width": 1.5 + 6 * gaussian[i] }),
    );
    asked.setAttribute("d", ray(q));
    pairs.limits([0, keys.length + 1], [0, 1.1 * Math.max(...gaussian, ...product)]);
    const wide = Math.max(1.5, Math.min(8, (pairs.X(1) - pairs.X(0)) / 3));
    const bar = (shift, weights) => (line, i) =>
      attr(line, {
        d: `M${pairs.X(i + 1) + shift} ${pairs.Y(0)}V${pairs.Y(weights[i])}`,
        "stroke-width": wide,
      });
    left(keys.length).forEach(bar(-wide / 2, gaussian));
    right(keys.length).forEach(bar(wide / 2, product));
    const apart = Math.max(...gaussian.map((w, i) => Math.abs(w - product[i])));
    gap.set(apart);
    words.textContent =
      `exp(−‖q − k‖²/2h²) = exp(q·k/h²) · exp(−‖k‖²/2h²) · exp(−‖q‖²/2h²). ` +
      (state.stretch === 1
        ? "All keys have length 1, so the last two factors cancel and the weights agree."
        : `Every second key has length ${fixed(state.stretch)}: the factor of ‖k‖ no longer cancels.`);
    announce(el, `Largest difference ${fixed(apart, 3)}`);
  }

  function draw() {
    const state = read();
    if (fit(state)) {
      predict.range(...yLimits);
      bandwidth.range(...reach(state.xs));
    }
    query.range(...xLimits);
    sync(state);
    const plain = state.view === "regression";
    for (const one of [...regression, kernel.el, predict.el]) one.hidden = !plain;
    for (const one of [...norms, stretch.el]) one.hidden = plain;
    (plain ? drawRegression : drawNorms)(state);
  }
  const live = bind(model, names, draw, predict.refresh);
  return live.stop;
}

const anywhere = within(-1e9, 1e9);

export default {
  render,
  share: {
    xs: anywhere,
    ys: anywhere,
    query: anywhere,
    bandwidth: (x) => x > 0 && x < 1e9,
    kernel: oneOf(KINDS),
    view: oneOf(VIEWS),
    stretch: within(0.5, 2),
  },
};
