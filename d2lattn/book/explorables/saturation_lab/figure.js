import {
  announce,
  attr,
  begin,
  bind,
  button,
  clamp,
  columns,
  disc,
  draggable,
  entropy,
  fixed,
  formulaLine,
  h,
  headLine,
  inkRgb,
  knobs,
  linspace,
  more,
  noteLine,
  oneOf,
  plot,
  pool,
  predictFirst,
  reader,
  readout,
  readoutRow,
  resetButton,
  s,
  show,
  softmax,
  stroke,
  toolRow,
  update,
  variance,
  whole,
  within,
} from "../kit/index.js";
import { contours } from "./contours.js";

const [KEYS, PAIRS, MOST, REACH] = [16, 256, 512, 2.5];
const SCORES = ["dot", "gaussian"];
const VIEWS = ["softmax", "field"];
const SHARE = {
  width: whole(2, MOST),
  scaled: () => true,
  temperature: within(0.125, 64),
  valid_length: whole(0, KEYS),
  seed: whole(0, 999999),
  view: oneOf(VIEWS),
  score: oneOf(SCORES),
  query: within(-REACH, REACH),
  key: within(-REACH, REACH),
};
const FORMULAS = ["q·k", "−‖q − k‖² / 2"];

// Standard normal vectors number first and following. Each uniform number depends on the seed and
// its own place alone, so the first entries are the same for every width. Python draws the same.
function normals(seed, first, count, width) {
  const start = Math.imul(seed, 0x9e3779b1);
  const uniform = (place) => {
    let t = (start + Math.imul(place + 1, 0x6d2b79f5)) | 0;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return Array.from({ length: count }, (_, i) => {
    const vector = new Float64Array(width);
    const place = (first + i) * MOST;
    for (let j = 0; j < width; j += 2) {
      const radius = Math.sqrt(-2 * Math.log(1 - uniform(place + j)));
      const angle = 2 * Math.PI * uniform(place + j + 1);
      vector[j] = radius * Math.cos(angle);
      // Past the end of an odd width this writes nothing.
      vector[j + 1] = radius * Math.sin(angle);
    }
    return vector;
  });
}

// q·k of one query with its keys, and of the pairs in the histogram, over the first entries.
function products(vectors, width) {
  const product = (i, j) => {
    let total = 0;
    for (let k = 0; k < width; k++) total += vectors[i][k] * vectors[j][k];
    return total;
  };
  const many = (n, pair) => Array.from({ length: n }, (_, i) => product(...pair(i)));
  return {
    row: many(KEYS, (i) => [0, 1 + i]),
    pairs: many(PAIRS, (i) => [1 + KEYS + i, 1 + KEYS + PAIRS + i]),
  };
}

// The root of the sum of the squared entries of diag(α) − α αᵀ.
const jacobianSize = (weights) =>
  Math.hypot(...weights.flatMap((a, i) => weights.map((b, j) => a * (Number(i === j) - b))));

// The score as a function of a key (x, y).
const scorer = (kind, [qx, qy]) =>
  kind === "dot" ? (x, y) => qx * x + qy * y : (x, y) => -((qx - x) ** 2 + (qy - y) ** 2) / 2;

function render({ model, el }) {
  begin(el, "");
  const title = /** @type {Element} */ (el.querySelector(".d2lx-title"));
  const names = Object.keys(SHARE);
  const read = reader(model, names);
  const onresize = () => live?.redraw();
  const numbers = Array.from({ length: KEYS }, (_, i) => String(i + 1));
  let drawn = {};
  // Random numbers are kept until the seed changes or more are needed, products until the width does.
  function scoresNow(/** @type {Record<string, any>} */ { seed, width, scaled, temperature }) {
    if (drawn.seed !== seed || drawn.most < width)
      drawn = { seed, most: width, vectors: normals(seed, 0, 1 + KEYS + 2 * PAIRS, width) };
    if (drawn.width !== width) drawn = { ...drawn, width, ...products(drawn.vectors, width) };
    const divisor = (scaled ? Math.sqrt(width) : 1) * temperature;
    return {
      divisor,
      row: drawn.row.map((x) => x / divisor),
      pairs: drawn.pairs.map((x) => x / divisor),
    };
  }
  const weightsNow = (state) =>
    softmax(
      scoresNow(state).row,
      numbers.map((_, i) => i < state.valid_length),
    );
  // The same keys twice, with and without the root.
  const lanes = [false, true].map((divided) => {
    const [head, most] = [headLine(), h("data", { "data-name": `lane-largest-${divided}` })];
    const bars = plot({ label: "Weights", height: 104, pad: 6, onresize });
    attr(bars.svg, { role: "presentation", "aria-hidden": "true" });
    const el = h(
      "div",
      { "data-scaled": String(divided) },
      head,
      bars.el,
      h("p", {}, "largest weight ", most),
    );
    const each = pool(bars.data, "rect", { fill: "var(--d2lx-ink)" });
    /** @type {(weights: number[], state: Record<string, any>, top: number) => void} */
    const set = (weights, { valid_length, width }, top) => {
      head.textContent = divided ? `divided by √${width}` : "undivided";
      bars.limits([0.5, KEYS + 0.5], [0, top]);
      const wide = bars.X(1) - bars.X(0);
      each(KEYS).forEach((bar, i) => {
        const masked = i >= valid_length;
        // What may not be looked at has a line below the axis, and no bar.
        attr(bar, {
          x: bars.X(i + 1) - wide * 0.35,
          width: wide * 0.7,
          y: masked ? bars.Y(0) + 4 : bars.Y(weights[i]),
          height: masked ? 2 : bars.Y(0) - bars.Y(weights[i]),
          fill: `var(--d2lx-${masked ? "muted" : "ink"})`,
          "data-value": masked ? "masked" : weights[i],
        });
      });
      show(most, Math.max(...weights), 2);
    };
    const slope = readout(
      `Slope of the softmax ‖J‖, ${divided ? "divided" : "undivided"}`,
      `lane-jacobian-${divided}`,
      4,
    );
    return { el, set, slope };
  });

  const { number, count, pick, tick, sync } = knobs(model);
  const view = pick("view", "View", ["scores and softmax", "the score as a field"], VIEWS);
  const width = count("width", "Width d", 2, MOST, { log: true });
  const scaled = tick("scaled", "Divide by √d (for the scores below)");
  const temperature = number("temperature", "Temperature", 0.125, 64, { step: 0.25, log: true });
  const valid = count("valid_length", "Valid keys", 0, KEYS);
  const score = pick("score", "Score", ["dot product", "Gaussian"], SCORES);
  const redraw = button("Other random numbers", () =>
    update(model, { seed: (model.get("seed") + 1) % 1000000 }),
  );

  const chart = plot({
    label: "Histogram of scores",
    height: 160,
    xLabel: "score a",
    yLabel: "share of pairs",
    onresize,
    pad: 52,
  });
  const shares = s("path", { fill: "var(--d2lx-line)" });
  const theory = stroke("ink", 2.5, { "stroke-dasharray": "6 3" });
  const rug = stroke("ink", 1.5);
  chart.data.append(shares, theory, rug);
  const found = [readout("Variance measured", "variance"), readout("in theory", "theory")];
  const shown = [readout("Largest weight", "largest"), readout("Entropy (nats)", "entropy")];
  const formula = formulaLine();
  const line = (...children) => readoutRow(...children.map((one) => one.el));
  const headline = headLine();
  const results = h(
    "div",
    {},
    headline,
    h("div", { class: "d2lx-lanes" }, ...lanes.map((lane) => lane.el)),
  );
  const rest = h(
    "div",
    {},
    headLine("Scores of 256 random pairs"),
    scaled.el,
    chart.el,
    line(...found),
    noteLine(
      "Dashed: a normal curve with the variance in theory. Strokes at the top: the 16 scores.",
    ),
    line(...shown),
    formula,
    noteLine(
      "Entropy: 0 when one key has all the weight, 2.77 (ln 16) when all 16 have the same weight. Its unit is the nat.",
    ),
    line(...lanes.map((lane) => lane.slope)),
    noteLine(
      "‖J‖ measures how far the weights move when the scores change a little. The softmax has a derivative for each weight and each score; their matrix is its Jacobian J, and ‖J‖ is the root of the sum of their squares.",
    ),
  );
  const predict = predictFirst({
    question:
      "Given the width, the division and the temperature: which variance will the scores have?",
    label: "Your guess: the variance",
    ...{ min: 2 ** -6, max: 2 ** 10, step: 0.25, log: true },
    answer: () => variance(scoresNow(read()).pairs),
    covered: [results, rest],
    onchange: () => live.redraw(),
  });

  // The field: a canvas below the axes, at a coarser resolution.
  const plane = plot({
    label: "Query and key in the plane",
    height: 364,
    xLabel: "first entry",
    yLabel: "second entry",
    onresize,
  });
  const canvas = h("canvas", { "aria-hidden": "true" });
  const [star, spot] = [
    s("path", {
      d: "M0-12L3-4 11-4 5 2 7 10 0 5-7 10-5 2-11-4-3-4z",
      fill: "var(--d2lx-blue)",
      stroke: "var(--d2lx-paper)",
      "stroke-width": 1.5,
    }),
    disc(8, "orange"),
  ];
  const mover = (element, name, label) =>
    draggable(plane, element, {
      label,
      step: () => [0.05, 0.05],
      onmove: (x, y) =>
        update(model, { [name]: [x, y].map((e) => Number(clamp(e, -REACH, REACH).toFixed(3))) }),
    });
  const movers = { query: mover(star, "query", "Query"), key: mover(spot, "key", "Key") };
  // Where the plane is pale, and where it is full of ink.
  const lines = ["ink", "paper"].map((colour) => stroke(colour, 0.8));
  plane.data.append(...lines, movers.key.el, movers.query.el);
  plane.el.style.position = "relative"; // above the canvas
  const ends = [h("data", { "data-name": "low" }), h("data", { "data-name": "high" })];
  const scale = h("span", {
    class: "d2lx-track",
    style: "flex:1;background:linear-gradient(90deg,var(--d2lx-paper),var(--d2lx-ink))",
  });
  const legend = h("div", { class: "d2lx-choice" }, "score", ends[0], scale, ends[1]);
  const here = readout("Score of the key", "score");
  const said = formulaLine();
  const field = h(
    "div",
    { style: "max-width:372px" },
    score.el,
    h("div", { style: "position:relative" }, canvas, plane.el),
    legend,
  );
  // A key to move, and what is said of it: folded in this view.
  movers.key.el.classList.add("d2lx-folded");
  const asked = h(
    "div",
    {},
    line(here),
    noteLine(
      "Star: the query. Dot: a key. Drag them, or use the arrow keys. From one line to the next the score changes by 1.",
    ),
    said,
  );
  // Red, green and blue in one number, as a canvas holds them.
  const inks = Uint32Array.from(linspace(0, 1, 256), (x) =>
    inkRgb(x).reduce((total, c, i) => total + (c << (8 * i)), 255 << 24),
  );
  const moved = names.filter((name) => name !== "view");
  // A view that is not shown is not there, so that nothing of it stands about without its numbers.
  const [picture, further] = [h("div"), h("div")];
  const fold = more(
    model,
    ["width", "scaled", "valid_length", "seed", "view", "key"],
    [
      columns({
        result: [],
        controls: [view.el, width.el, valid.el, redraw, predict.el],
        more: [further],
      }),
    ],
  );
  const tools = toolRow(resetButton(model, moved, predict.stop));
  el.append(columns({ result: [picture], controls: [temperature.el, tools] }), fold);
  let laid = "";
  function lay(/** @type {string} */ now) {
    if (now === laid) return;
    laid = now;
    const plain = now === "softmax";
    title.textContent = plain ? "Saturation lab" : "The score of every key";
    picture.replaceChildren(plain ? results : field);
    further.replaceChildren(plain ? rest : asked);
    for (const one of [width.el, temperature.el, valid.el, predict.el]) one.hidden = !plain;
    el.classList.toggle("d2lx-plane", !plain);
  }

  function drawSoftmax(state) {
    const { divisor, row, pairs } = scoresNow(state);
    const weights = weightsNow(state);
    const expected = (state.scaled ? 1 : state.width) / state.temperature ** 2;
    const deviation = Math.sqrt(expected);
    // The axis keeps still for a while as the histogram widens.
    const half = [1, 4, 16, 64, 256].find((x) => x >= 3.2 * deviation) ?? 1024;
    const bins = 33;
    const counts = Array(bins).fill(0);
    pairs.forEach(
      (x) => (counts[clamp(Math.floor(((x / half + 1) / 2) * bins), 0, bins - 1)] += 1 / PAIRS),
    );
    const wide = (2 * half) / bins;
    const curve = (x) =>
      (wide * Math.exp((-x * x) / expected / 2)) / deviation / Math.sqrt(2 * Math.PI);
    chart.limits([-half, half], [0, 1.2 * Math.max(...counts, curve(0))]);
    shares.setAttribute(
      "d",
      counts
        .map(
          (count, i) =>
            `M${chart.X(wide * i - half) + 0.5} ${chart.Y(0)}V${chart.Y(count)}H${chart.X(wide * (i + 1) - half) - 0.5}V${chart.Y(0)}z`,
        )
        .join(""),
    );
    chart.path(
      theory,
      linspace(-half, half, 161).map((x) => [x, curve(x)]),
    );
    rug.setAttribute("d", row.map((x) => `M${chart.X(clamp(x, -half, half))} 4v11`).join(""));
    found[0].set(variance(pairs));
    found[1].set(expected);

    const most = Math.max(...weights);
    const both = [false, true].map((divided) => weightsNow({ ...state, scaled: divided }));
    const top = Math.max(...both.flat()) > 0.3 ? 1 : 0.3;
    headline.textContent = `One query and ${KEYS} keys of ${state.width} random numbers each`;
    lanes.forEach((lane, k) => {
      lane.set(both[k], state, top);
      lane.slope.set(jacobianSize(both[k]));
    });
    shown[0].set(most);
    shown[1].set(entropy(weights));
    const by = state.scaled
      ? `(√${state.width} · ${fixed(state.temperature)})`
      : fixed(state.temperature);
    const first = weights.indexOf(most);
    const product = `a = q·k / ${by} = ${fixed(row[first] * divisor)} / ${fixed(divisor)} = ${fixed(row[first])}`;
    formula.textContent = state.valid_length
      ? `Key ${first + 1}: ${product}; α = exp(a) / Σ exp(aⱼ) = ${fixed(most, 3)}`
      : "No key is valid: all weights are 0.";
    announce(
      el,
      `Largest weight ${both.map((one) => fixed(Math.max(...one))).join(" undivided, ")} divided`,
    );
  }

  function drawField(state) {
    const value = scorer(state.score, state.query);
    const [w, tall] = [Math.max(40, plane.width() - 56), 316];
    // One unit is as long across as up.
    const across = (3 * w) / tall;
    plane.limits([-across, across], [-3, 3]);
    const [n, m] = [tall, w].map((pixels) => Math.round(pixels / 2.5));
    canvas.style.cssText = `position:absolute;left:44px;top:10px;width:${w}px;height:${tall}px`;
    attr(canvas, { width: m, height: n });
    const values = new Float64Array(n * m);
    for (let k = 0; k < n * m; k++)
      values[k] = value(
        (((k % m) + 0.5) / m) * 2 * across - across,
        3 - ((Math.floor(k / m) + 0.5) / n) * 6,
      );
    const [low, high] = [
      values.reduce((a, x) => Math.min(a, x)),
      values.reduce((a, x) => Math.max(a, x)),
    ];
    const context = canvas.getContext("2d");
    if (!context) return;
    const image = context.createImageData(m, n);
    const pixels = new Uint32Array(image.data.buffer);
    const share = (/** @type {number} */ x) => (high > low ? (x - low) / (high - low) : 0.5);
    for (let k = 0; k < n * m; k++) pixels[k] = inks[Math.floor(share(values[k]) * 255)];
    context.putImageData(image, 0, 0);
    const [wide, deep] = [w, tall].map((all) => Math.round(all / 8));
    const [xs, ys] = [linspace(-across, across, wide + 1), linspace(3, -3, deep + 1)];
    const pieces = contours(
      ys.flatMap((y) => xs.map((x) => value(x, y))),
      wide + 1,
    );
    lines.forEach((one, k) => {
      const mine = pieces.filter(([level]) => Number(share(level) > 0.45) === k);
      const at = (/** @type {number} */ x, /** @type {number} */ y) =>
        `${(44 + (x * w) / wide).toFixed(1)} ${(10 + (y * tall) / deep).toFixed(1)}`;
      attr(one, { d: mine.map(([, a, b, c, d]) => `M${at(a, b)}L${at(c, d)}`).join("") });
    });
    const now = value(...state.key);
    const words = `a = ${fixed(now, 3)}`;
    const [q, k] = ["query", "key"].map((name) => {
      const at = `(${state[name].map((x) => fixed(x)).join(", ")})`;
      movers[name].place(...state[name], `${at}, ${words}`, [-REACH, REACH]);
      return at;
    });
    here.set(now);
    [low, high].forEach((x, i) => attr(ends[i], { value: x }).replaceChildren(fixed(x, 1)));
    said.textContent = `a(q, k) = ${FORMULAS[SCORES.indexOf(state.score)]} with q = ${q}, k = ${k}: ${words}`;
    announce(el, `Score ${fixed(now)}; in view from ${fixed(low, 1)} to ${fixed(high, 1)}`);
  }

  function draw() {
    const state = read();
    const plain = state.view === "softmax";
    sync(state);
    lay(state.view);
    redraw.hidden = !plain;
    (plain ? drawSoftmax : drawField)(state);
  }
  const live = bind(model, names, draw, predict.refresh);
  return live.stop;
}

export default { render, share: SHARE };
