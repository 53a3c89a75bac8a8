// The kit that every explorable is built from. Python puts it in front of the explorable's own
// module (see base.py), so names here must not be declared again there.
//
//   1. Arithmetic   plain functions on numbers and arrays; the tests compare them with PyTorch
//   2. Elements     h, s, attr, clip, pool: text enters as text, never as HTML
//   3. Numbers      fixed, show: what is printed, with full precision in value="…"
//   4. Controls     slider, choice, button, resetButton, predictFirst
//   5. Pictures     reds, bars, heatmap, plot, draggable
//   6. Life         begin, announcer, bind, update
//
// Only comments on lines of their own: those are left out of the page.

// ---- 1. Arithmetic ---------------------------------------------------------------------------

export const sum = (xs) => xs.reduce((total, x) => total + x, 0);
export const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);
export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
export const linspace = (low, high, n) =>
  Array.from({ length: n }, (_, i) => low + ((high - low) * i) / Math.max(1, n - 1));
export const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));
// (n, k) x (k, m) -> (n, m)
export const matmul = (A, B) => {
  const columns = transpose(B);
  return A.map((row) => columns.map((column) => dot(row, column)));
};
// Population variance: divided by n.
export const variance = (xs) => {
  const mean = sum(xs) / xs.length;
  return sum(xs.map((x) => (x - mean) ** 2)) / xs.length;
};

// Weights that sum to 1; where mask[i] is false the weight is 0. Nothing to see: all weights 0.
export function softmax(scores, mask = null) {
  const seen = (i) => !mask || mask[i];
  const highest = Math.max(...scores.filter((_, i) => seen(i)));
  const powers = scores.map((score, i) => (seen(i) ? Math.exp(score - highest) : 0));
  const total = sum(powers);
  return powers.map((power) => (total ? power / total : 0));
}

// In nats. A weight of 0 adds nothing.
export const entropy = (weights) => sum(weights.map((w) => (w > 0 ? -w * Math.log(w) : 0)));

// Functions of u = distance / bandwidth, each of area 1.
export const kernels = {
  gaussian: (u) => Math.exp((-u * u) / 2) / Math.sqrt(2 * Math.PI),
  boxcar: (u) => (Math.abs(u) <= 1 ? 0.5 : 0),
  epanechnikov: (u) => 0.75 * Math.max(0, 1 - u * u),
  triangular: (u) => Math.max(0, 1 - Math.abs(u)),
};

// The weights of one query over the keys; all 0 when no key is in reach.
export function kernelWeights(query, keys, bandwidth, kernel) {
  if (kernel === "gaussian") {
    // As a softmax, so that no bandwidth is too small: the nearest key always has score 0.
    const squared = keys.map((key) => (query - key) ** 2);
    const nearest = Math.min(...squared);
    return softmax(squared.map((d) => -(d - nearest) / bandwidth / bandwidth / 2));
  }
  const heights = keys.map((key) => kernels[kernel]((query - key) / bandwidth));
  const total = sum(heights);
  return heights.map((height) => (total ? height / total : 0));
}

// NaN when no key is in reach.
export function kernelPrediction(query, keys, values, bandwidth, kernel) {
  const weights = kernelWeights(query, keys, bandwidth, kernel);
  return weights.some((w) => w > 0) ? dot(weights, values) : NaN;
}

// Mean squared error when each value is predicted from all others; infinite if one cannot be.
export function leaveOneOutError(keys, values, bandwidth, kernel) {
  const errors = keys.map((key, i) => {
    const others = (xs) => xs.filter((_, j) => j !== i);
    return (kernelPrediction(key, others(keys), others(values), bandwidth, kernel) - values[i]) ** 2;
  });
  return errors.some(Number.isNaN) ? Infinity : sum(errors) / keys.length;
}

// ---- 2. Elements -----------------------------------------------------------------------------

// Numbers the ids that labels and patterns need; shared by all explorables of a page.
const freshId = () => `d2lx-${(globalThis.d2lxCount = (globalThis.d2lxCount ?? 0) + 1)}`;

// Set many attributes; functions become listeners, null takes an attribute away.
export function attr(element, values) {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (value === null || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

// An HTML element: h("p", { class: "d2lx-note" }, "text", child, …).
export function h(tag, values = {}, ...children) {
  const element = attr(document.createElement(tag), values);
  element.append(...children);
  return element;
}

// The same for SVG.
export function s(tag, values = {}, ...children) {
  const element = attr(document.createElementNS("http://www.w3.org/2000/svg", tag), values);
  element.append(...children);
  return element;
}

// Cut a label to at most n characters, never through an emoji.
export function clip(text, n = 16) {
  const letters = Array.from(String(text).slice(0, 4 * n + 4));
  return letters.length > n ? `${letters.slice(0, n - 1).join("")}…` : letters.join("");
}

// Keeps a number of equal SVG elements in a group: pool(group, "circle")(5) gives five of them.
export function pool(group, tag, values = {}) {
  const elements = [];
  return (n) => {
    while (elements.length < n) {
      const element = s(tag, values);
      elements.push(element);
      group.append(element);
    }
    while (elements.length > n) elements.pop().remove();
    return elements;
  };
}

// Calls back with the element's width, at first and whenever it changes.
export function onWidth(element, callback) {
  let last = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width > 0 && width !== last) callback((last = width));
  }).observe(element);
}

// ---- 3. Numbers ------------------------------------------------------------------------------

// As text with a true minus sign; "−0.00" is "0.00".
export function fixed(x, digits = 2) {
  if (Number.isNaN(x)) return "none";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const text = Math.abs(x) >= 1e6 ? x.toExponential(digits) : x.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

// Print a number in a <data> element, with all its digits in the value attribute.
export function show(element, x, digits = 2) {
  element.setAttribute("value", String(x));
  element.textContent = fixed(x, digits);
}

// A named read-out: { el, set(x) }. The name is what tests and styles find it by.
export function readout(label, name, digits = 3) {
  const data = h("data", { "data-name": name });
  const el = h("div", { class: "d2lx-readout" }, h("span", {}, label), data);
  return { el, set: (x) => show(data, x, digits) };
}

// ---- 4. Controls -----------------------------------------------------------------------------

// A labelled range input with its value printed: { el, input, set(x) }.
// log: equal steps multiply, and min and max must be positive. text(x): the printed value.
export function slider({ label, min, max, step, value, oninput, log = false, text = fixed }) {
  const there = (x) => (log ? Math.log2(x) : x);
  const back = (x) => (log ? 2 ** x : x);
  const id = freshId();
  const output = h("output", { for: id });
  const input = h("input", { id, type: "range", min: there(min), max: there(max), step });
  const say = (x) => {
    output.textContent = text(x);
    input.setAttribute("aria-valuetext", text(x));
  };
  input.addEventListener("input", () => {
    const x = back(Number(input.value));
    say(x);
    oninput(x);
  });
  const set = (x) => {
    // Rounding to the step would move a value that Python set; the thumb alone is rounded.
    if (document.activeElement !== input || back(Number(input.value)) !== x) input.value = there(x);
    say(x);
  };
  // The label names its input by id: inside it, an output would be taken for what it names.
  const name = h("label", { for: id, dir: "auto", title: clip(label, 200) }, clip(label, 40));
  const el = h("div", { class: "d2lx-slider" }, name, output, input);
  set(value);
  return { el, input, set };
}

// A labelled list to choose from: { el, select, set(index) }; onchange gets the index.
export function choice({ label, options, value = 0, onchange }) {
  const select = h("select", { onchange: () => onchange(select.selectedIndex) });
  select.append(...options.map((option) => h("option", { dir: "auto" }, clip(option, 40))));
  const el = h("label", { class: "d2lx-choice" }, h("span", {}, label), select);
  const set = (index) => (select.selectedIndex = index);
  set(value);
  return { el, select, set };
}

export const button = (label, onclick) => h("button", { type: "button", onclick }, label);

// Puts the named traits back to what they were when the figure was drawn.
export function resetButton(model, names) {
  const start = names.map((name) => [name, model.get(name)]);
  return button("Reset", () => {
    start.forEach(([name, value]) => model.set(name, value));
    model.save_changes();
  });
}

// A row of buttons that each set several traits: [["Uniform", { strength: 0 }], …].
export const presets = (model, list) =>
  list.map(([label, values]) =>
    button(label, () => {
      Object.entries(values).forEach(([name, value]) => model.set(name, value));
      model.save_changes();
    }),
  );

// Hides the results, takes a guess, then shows both: { el, guess(), refresh() }.
// answer(): the true number now. covered: the elements to hide. onchange(): redraw.
export function predictFirst({ question, min, max, step, digits = 2, answer, covered, onchange }) {
  let guess = null;
  let hidden = false;
  const verdict = h("output", { class: "d2lx-verdict" });
  const range = slider({
    label: question,
    min,
    max,
    step,
    value: (min + max) / 2,
    text: (x) => fixed(x, digits),
    oninput: (x) => {
      guess = x;
      onchange();
    },
  });
  const form = h("div", { class: "d2lx-guess", hidden: true }, range.el);
  const toggle = button("Predict first", () => {
    hidden = !hidden;
    form.hidden = !hidden;
    toggle.textContent = hidden ? "Reveal" : "Predict first";
    covered.forEach((element) => element.classList.toggle("d2lx-covered", hidden));
    if (hidden) {
      guess = Number(range.input.value);
      verdict.textContent = "The results are hidden. Set the controls, make your guess, reveal.";
    } else {
      const truth = answer();
      const apart = fixed(Math.abs(truth - guess), digits);
      verdict.textContent =
        `You said ${fixed(guess, digits)}; it is ${fixed(truth, digits)}` +
        (Number.isFinite(truth) ? `: ${apart} apart.` : ".");
    }
    onchange();
  });
  // What was said of an earlier setting is no longer true.
  const refresh = () => {
    if (!hidden && guess !== null) [guess, verdict.textContent] = [null, ""];
  };
  const el = h("div", { class: "d2lx-predict" }, toggle, form, verdict);
  return { el, guess: () => guess, refresh };
}

// ---- 5. Pictures -----------------------------------------------------------------------------

const REDS = "fff5f0 fee0d2 fcbba1 fc9272 fb6a4a ef3b2c cb181d a50f15 67000d"
  .split(" ")
  .map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));

// matplotlib's "Reds" for a value from 0 to 1, as [red, green, blue].
export function redsRgb(value) {
  const place = (clamp(Math.floor(value * 256), 0, 255) / 255) * 8;
  const low = Math.min(7, Math.floor(place));
  return REDS[low].map((c, i) => Math.round(c + (REDS[low + 1][i] - c) * (place - low)));
}
export const reds = (value) => `rgb(${redsRgb(value).join(",")})`;
const inkOn = (value) => (value > 0.55 ? "#fff" : "#1a1a1a");

// Horizontal bars from 0 to 1 with labels and numbers: { el, set(values, names?) }.
export function bars({ label, digits = 3 }) {
  const el = h("div", { class: "d2lx-bars", role: "list", "aria-label": label });
  let rows = [];
  let drawn = null;
  const set = (values, names = drawn) => {
    if (names !== drawn) {
      rows = names.map((name, i) => {
        const fill = h("span", { class: "d2lx-fill" });
        const data = h("data", { "data-name": `bar-${i}` });
        const title = h("span", { class: "d2lx-name", dir: "auto", title: clip(name, 200) });
        title.append(clip(name, 24));
        const track = h("span", { class: "d2lx-track" }, fill);
        return { fill, data, el: h("div", { role: "listitem" }, title, track, data) };
      });
      el.replaceChildren(...rows.map((row) => row.el));
      drawn = names;
    }
    values.forEach((value, i) => {
      rows[i].fill.style.width = `${100 * clamp(value, 0, 1)}%`;
      show(rows[i].data, value, digits);
    });
  };
  return { el, set };
}

// A matrix of numbers from 0 to 1 in matplotlib's Reds: { el, set(matrix, options) }.
//   rows, columns    labels; rowTitle and columnTitle say what they are
//   labels           false leaves them out of the picture, not out of what is said
//   cellHeight       in pixels; without it cells are square, at most maxCell wide
//   onpick(i, j)     a click, Enter or space on a cell
//   set's options    rows, columns: new labels. mask(i, j): false hatches the cell.
//                    mark(i, j): a word or character drawn in the cell. row: the row to frame.
//                    say(i, j): more words for the line below. over(layer, box): draws above the
//                    cells into an SVG group; box(i, j) is where a cell lies.
// One tab stop; the arrow keys move a cursor, and the line below says what it is on.
// SVG up to 400 cells, canvas above.
export function heatmap(spec) {
  const { label, rowTitle = "row", columnTitle = "column", digits = 2, onpick = null } = spec;
  const { cellHeight = null, maxCell = 44, labels = true } = spec;
  let { rows, columns } = spec;
  let [n, m, left, top, w, tall] = [0, 0, 0, 0, 0, 0];
  let [matrix, options, width, built, drawn] = [null, {}, 320, ""];
  let [ci, cj] = [0, 0];
  let [cells, canvas] = [[], null];
  const hatch = freshId();
  const stage = h("div", { class: "d2lx-stage", tabindex: 0, role: "application", "aria-roledescription": "heatmap" });
  const line = h("output", { class: "d2lx-cell" });
  const el = h("div", {}, stage, line);
  const [frame, layer] = [s("rect", { class: "d2lx-frame" }), s("g")];
  const pointer = s("rect", { class: "d2lx-cursor" });
  const visible = (i, j) => !options.mask || options.mask(i, j);
  const box = (i, j, span = 1) => ({ x: left + j * w, y: top + i * tall, width: w * span, height: tall });
  // Isolated, so that a right-to-left label does not turn the sentence around.
  const spoken = (names, i) => `\u2068${clip(names[i] || i + 1, 40)}\u2069`;

  function go(i, j) {
    [ci, cj] = [clamp(i, 0, n - 1), clamp(j, 0, m - 1)];
    const value = visible(ci, cj) ? fixed(matrix[ci][cj], Math.max(3, digits)) : "masked";
    const mark = options.mark?.(ci, cj);
    const extra = options.say?.(ci, cj);
    const marked = (mark ? `, marked ${mark}` : "") + (extra ? `, ${extra}` : "");
    line.textContent = `${rowTitle} ${spoken(rows, ci)}, ${columnTitle} ${spoken(columns, cj)}: ${value}${marked}`;
    attr(pointer, box(ci, cj));
  }

  function build() {
    [n, m] = [rows.length, columns.length];
    const longest = (names) => (labels ? Math.max(...names.map((name) => clip(name).length)) : 0);
    left = Math.min(longest(rows) * 7.5 + 8 * labels, width * 0.4) + 1;
    w = Math.min((width - left - 1) / m, cellHeight ? Infinity : maxCell);
    tall = cellHeight ?? w;
    // Labels that are too long for a column stand upright; where even that is too tight, none do.
    const upright = longest(columns) * 7.5 > w;
    const named = labels && (!upright || w >= 11);
    top = !named ? 1 : upright ? longest(columns) * 7 + 10 : 20;
    const svg = s("svg", { width: left + m * w + 1, height: top + n * tall + 1, "aria-hidden": "true" });
    const tile = s("pattern", { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse" });
    tile.append(s("rect", { width: 6, height: 6, class: "d2lx-masked" }), s("path", { d: "M0 6L6 0", class: "d2lx-hatch" }));
    svg.append(tile);
    const write = (name, values) => svg.append(s("text", { ...values, class: "d2lx-tick" }, clip(name)));
    if (labels) rows.forEach((name, i) => write(name, { x: left - 6, y: top + (i + 0.5) * tall + 4, "text-anchor": "end" }));
    if (named) {
      columns.forEach((name, j) => {
        const x = left + (j + 0.5) * w;
        if (upright) write(name, { transform: `translate(${x + 4} ${top - 5}) rotate(-90)` });
        else write(name, { x, y: top - 6, "text-anchor": "middle" });
      });
    }
    [cells, canvas] = [[], null];
    if (n * m <= 400) {
      for (let k = 0; k < n * m; k++) {
        const place = box(Math.floor(k / m), k % m);
        const text = s("text", { x: place.x + w / 2, y: place.y + tall / 2 + 4, "text-anchor": "middle", class: "d2lx-number" });
        cells.push([s("rect", place), text]);
        svg.append(...cells[k]);
      }
    } else {
      canvas = h("canvas", { width: 2 * m * w, height: 2 * n * tall });
      canvas.style.cssText = `left:${left}px;top:${top}px;width:${m * w}px;height:${n * tall}px`;
    }
    svg.append(frame, layer, pointer);
    stage.replaceChildren(...(canvas ? [canvas, svg] : [svg]));
    const hint = onpick ? ", Enter marks one." : ".";
    attr(stage, { "aria-label": `${label}: ${n} rows, ${m} columns. Arrow keys go from cell to cell${hint}` });
  }

  function draw() {
    const signature = JSON.stringify([width, rows, columns]);
    const still = signature === built && matrix === drawn && !options.mask && !options.mark;
    if (signature !== built) build();
    [built, drawn] = [signature, matrix];
    const context = canvas?.getContext("2d");
    const printed = w >= 8 * digits + 18 && tall >= 18;
    for (let k = still ? n * m : 0; k < n * m; k++) {
      const [i, j] = [Math.floor(k / m), k % m];
      const [value, shown] = [matrix[i][j], visible(i, j)];
      const mark = options.mark?.(i, j) ?? "";
      const ink = inkOn(shown ? value : 0);
      if (context) {
        context.fillStyle = shown ? reds(value) : "#d8d8d8";
        context.fillRect(2 * j * w, 2 * i * tall, 2 * w + 1, 2 * tall + 1);
        context.fillStyle = ink;
        context.font = `${1.6 * Math.min(w, tall)}px sans-serif`;
        if (mark || !shown) context.fillText(mark || "╱", (2 * j + 0.5) * w, (2 * i + 1.6) * tall);
      } else {
        const [rect, text] = cells[k];
        attr(rect, { fill: shown ? reds(value) : `url(#${hatch})`, "data-value": shown ? value : "masked" });
        text.setAttribute("fill", ink);
        text.textContent = mark || (printed && shown ? fixed(value, digits) : "");
      }
    }
    attr(frame, box(options.row ?? 0, 0, options.row === undefined ? 0 : m));
    options.over?.(layer, box);
    go(ci, cj);
  }

  stage.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -m], End: [0, m] };
    const step = steps[event.key];
    const pick = onpick && (event.key === "Enter" || event.key === " ");
    if (!step && !pick) return;
    // The notebook has its own use for these keys.
    event.preventDefault();
    event.stopPropagation();
    if (pick) onpick(ci, cj);
    else go(ci + step[0], cj + step[1]);
  });
  const point = (event) => {
    const area = stage.getBoundingClientRect();
    const i = Math.floor((event.clientY - area.top - top) / tall);
    const j = Math.floor((event.clientX - area.left - left) / w);
    if (i < 0 || j < 0 || i >= n || j >= m) return;
    go(i, j);
    if (event.type === "click") onpick?.(i, j);
  };
  attr(stage, { onpointermove: point, onclick: point });
  onWidth(el, (now) => {
    width = now;
    if (matrix) draw();
  });
  const set = (next, nextOptions = {}) => {
    [matrix, options] = [next, nextOptions];
    rows = options.rows ?? rows;
    columns = options.columns ?? columns;
    draw();
  };
  return { el, set };
}

// Round numbers to write on an axis.
export function ticks(low, high, n = 6) {
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((k) => k * power >= rough);
  const first = Math.ceil(low / step);
  const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// A pair of axes in pixels: { el, svg, data, X, Y, unX, unY, width(), limits(x, y), path }.
// Draw into .data after calling limits([low, high], [low, high]); onresize asks for a redraw.
export function plot({ label, height, xLabel, yLabel, onresize, pad = 44 }) {
  const axes = s("g", { "aria-hidden": "true" });
  const data = s("g");
  const svg = s("svg", { role: "group", "aria-label": label, height, width: 320 }, axes, data);
  const el = h("div", { class: "d2lx-plot" }, svg);
  const [right, top, bottom] = [12, 10, xLabel ? 38 : 22];
  let width = 320;
  let [x, y, drawn] = [[0, 1], [0, 1], ""];
  const X = (value) => pad + ((value - x[0]) / (x[1] - x[0])) * (width - pad - right);
  const Y = (value) => height - bottom - ((value - y[0]) / (y[1] - y[0])) * (height - top - bottom);
  const unX = (pixel) => x[0] + ((pixel - pad) / (width - pad - right)) * (x[1] - x[0]);
  const unY = (pixel) => y[0] + ((height - bottom - pixel) / (height - top - bottom)) * (y[1] - y[0]);
  const limits = (nextX, nextY) => {
    const signature = [width, ...nextX, ...nextY].join();
    if (signature === drawn) return;
    [x, y, drawn] = [nextX, nextY, signature];
    const text = (values, words) => s("text", { class: "d2lx-tick", ...values }, words);
    const [foot, end] = [height - bottom, width - right];
    const parts = [s("path", { class: "d2lx-axis", d: `M${pad} ${top}V${foot}H${end}` })];
    const decimals = (list) => Math.max(...list.map((t) => (String(t).split(".")[1] ?? "").length), 0);
    const xs = ticks(...x, width < 420 ? 4 : 8);
    const ys = yLabel ? ticks(...y, Math.max(2, Math.floor(height / 45))) : [];
    xs.forEach((t) => {
      const words = fixed(t, decimals(xs));
      parts.push(text({ x: X(t), y: foot + 16, "text-anchor": "middle" }, words));
    });
    ys.forEach((t) => {
      const words = fixed(t, decimals(ys));
      parts.push(text({ x: pad - 6, y: Y(t) + 4, "text-anchor": "end" }, words));
    });
    const middle = (top + foot) / 2;
    if (xLabel) parts.push(text({ x: (pad + end) / 2, y: height - 5, "text-anchor": "middle" }, xLabel));
    const turned = { transform: `translate(12 ${middle}) rotate(-90)`, "text-anchor": "middle" };
    if (yLabel) parts.push(text(turned, yLabel));
    axes.replaceChildren(...parts);
  };
  // A line through points [[x, y], …] in the units of the axes; it breaks where y is NaN.
  const path = (element, points) => {
    let pen = "M";
    let d = "";
    for (const [px, py] of points) {
      if (Number.isFinite(py)) d += `${pen}${X(px).toFixed(1)} ${Y(py).toFixed(1)}`;
      pen = Number.isFinite(py) ? "L" : "M";
    }
    element.setAttribute("d", d);
  };
  onWidth(el, (now) => {
    width = now;
    svg.setAttribute("width", width);
    onresize?.();
  });
  return { el, svg, data, X, Y, unX, unY, limits, path, width: () => width };
}

// Makes an SVG element a point that moves: by mouse, by touch and by arrow keys.
//   onmove(x, y)   the new place; x and y are numbers in the units of the axes
//   step()         [by x, by y] for one press of an arrow key; with shift ten times as much.
//                  A step of 0 keeps that direction fixed.
// Returns { place(x, y, words, [low, high]) }: where it is, how that is said, the range of x.
export function draggable(axes, element, { label, step, onmove }) {
  let [x, y] = [0, 0];
  // Presses may come faster than frames: each starts where the last one went.
  const go = (...to) => {
    [x, y] = to;
    onmove(x, y);
  };
  attr(element, { tabindex: 0, role: "slider", "aria-label": label, class: "d2lx-handle" });
  element.addEventListener("keydown", (event) => {
    const signs = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const sign = signs[event.key];
    if (!sign) return;
    event.preventDefault();
    event.stopPropagation();
    const many = event.shiftKey ? 10 : 1;
    const [dx, dy] = step();
    // Where one direction is fixed, all four arrows move along the other.
    go(x + many * dx * (dy ? sign[0] : sign[0] || sign[1]), y + many * dy * (dx ? sign[1] : sign[0] || sign[1]));
  });
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    element.focus();
    event.preventDefault();
  });
  element.addEventListener("pointermove", (event) => {
    if (!element.hasPointerCapture(event.pointerId)) return;
    const area = axes.svg.getBoundingClientRect();
    const to = [axes.unX(event.clientX - area.left), axes.unY(event.clientY - area.top)];
    const [dx, dy] = step();
    go(dx ? to[0] : x, dy ? to[1] : y);
  });
  const place = (nextX, nextY, words, limits) => {
    [x, y] = [nextX, nextY];
    const value = { "aria-valuenow": x, "aria-valuetext": words };
    attr(element, { ...value, "aria-valuemin": limits[0], "aria-valuemax": limits[1] });
  };
  return { place };
}

// ---- 6. Life ---------------------------------------------------------------------------------

// A line that only screen readers meet: say(text) speaks once the reader pauses.
export function announcer() {
  const el = h("div", { class: "d2lx-quiet", role: "status" });
  let timer = 0;
  const say = (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => (el.textContent = text), 500);
  };
  return { el, say };
}

// Redraws once a frame however many traits change, at first right away. Returns { redraw, stop }.
export function bind(model, names, draw) {
  let waiting = 0;
  const now = () => {
    waiting = 0;
    draw();
  };
  const redraw = () => {
    waiting ||= requestAnimationFrame(now);
  };
  names.forEach((name) => model.on(`change:${name}`, redraw));
  draw();
  const stop = () => names.forEach((name) => model.off(`change:${name}`, redraw));
  return { redraw, stop };
}

// The first line of every render: a frame with a title.
export function begin(el, title) {
  el.classList.add("d2lx");
  // JupyterLab takes arrow keys for its cells, except from an element that carries this mark itself.
  const mark = (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true");
  el.addEventListener("focusin", mark);
  el.append(h("h4", {}, title));
}

// Set traits and tell Python.
export function update(model, values) {
  Object.entries(values).forEach(([name, value]) => model.set(name, value));
  model.save_changes();
}
