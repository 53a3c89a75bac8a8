// The second view: what is added at a place. Sines and cosines as a map, and as hands that turn.
import {
  announce,
  attr,
  button,
  check,
  columns,
  fixed,
  formulaLine,
  h,
  inkRgb,
  knobs,
  noteLine,
  onWidth,
  pool,
  reader,
  readout,
  readoutRow,
  resetButton,
  s,
  stroke,
  toolRow,
  update,
} from "../kit/index.js";
import { encoding, frequencies, product, turned } from "./arithmetic.js";

/** The largest i, and the largest offset. */
export const FAR = 40;
const [WIDTH, PLACES, LEFT, TOP, TALL] = [16, 2 * FAR + 1, 24, 16, 112];
const MOVED = ["position", "offset", "frequencies"];
const SPEEDS = frequencies(WIDTH);
const OFFSETS = Array.from({ length: FAR + 1 }, (_, offset) => offset);

/** A clock of two hands and the way between them: { svg, set }. @param {number} j which pair */
function clock(j) {
  const [here, there, way] = [stroke("blue", 3), stroke("orange", 3), stroke("ink", 1.5)];
  const face = s("circle", { r: 17, fill: "none", stroke: "var(--d2lx-line)" });
  const svg = s("svg", { viewBox: "-18 -18 36 36", "aria-hidden": "true" }, face, way, here, there);
  // Clockwise from noon, as (sin, cos) stands.
  const tip = (/** @type {number[]} */ p, /** @type {number} */ r) =>
    `${(r * p[2 * j]).toFixed(2)} ${(-r * p[2 * j + 1]).toFixed(2)}`;
  /** @param {number[]} p @param {number[]} q @param {number} offset @param {boolean} on */
  const set = (p, q, offset, on) => {
    const long = Number((SPEEDS[j] * offset) % (2 * Math.PI) > Math.PI);
    attr(svg, { class: !on && "d2lx-off" });
    attr(here, { d: `M0 0L${tip(p, 16)}` });
    attr(there, { d: `M0 0L${tip(q, 12)}` });
    attr(way, { d: `M${tip(p, 8)}A8 8 0 ${long} 1 ${tip(turned(p, offset), 8)}` });
  };
  return { svg, set };
}

/**
 * A picture over whole numbers from 0 to last: { el, svg, X }.
 * @param {number} last
 * @param {string} title
 * @param {() => void} onresize
 */
function over(last, title, onresize) {
  const foot = TOP + TALL;
  const svg = s("svg", { height: foot + 36, "aria-hidden": "true" });
  const el = h("div", { class: "d2lx-stage" }, svg);
  const numbers = { class: "d2lx-tick", y: foot + 14, "text-anchor": "middle" };
  const ticks = pool(svg, "text", numbers)(last / 10 + 1);
  const name = s("text", { ...numbers, y: foot + 31 }, title);
  svg.append(name);
  let step = 1;
  const X = (/** @type {number} */ place) => LEFT + place * step;
  onWidth(el, (width) => {
    step = (width - LEFT - 12) / last;
    attr(svg, { width });
    attr(name, { x: X(last / 2) });
    ticks.forEach((tick, k) => attr(tick, { x: X(10 * k) }).replaceChildren(String(10 * k)));
    onresize();
  });
  return { el, svg, X };
}

/** @param {import("../kit/life.js").Model} model @param {() => void} redraw */
export function wavesView(model, redraw) {
  const read = reader(model, MOVED);
  const { count, sync } = knobs(model);
  const position = count("position", "Position i", 0, FAR);
  const offset = count("offset", "Offset δ", 0, FAR);

  const map = over(PLACES - 1, "position", redraw);
  const canvas = h("canvas", { width: PLACES, height: WIDTH, "aria-hidden": "true" });
  const marks = ["i", "i + δ"].map((name) => ({
    column: s("rect", { fill: "none", stroke: "var(--d2lx-ink)", y: TOP, height: TALL }),
    label: s("text", { class: "d2lx-tick", y: 12 }, name),
  }));
  map.el.prepend(canvas);
  map.svg.append(...marks.flatMap(({ column, label }) => [column, label]));
  let painted = "";

  const hands = SPEEDS.map((speed, j) => {
    const face = clock(j);
    const period = (2 * Math.PI) / speed;
    const label = fixed(period, period < 10 ? 1 : 0);
    const on = check({
      label: `${label} `,
      onchange(now) {
        const next = [...model.get("frequencies")];
        next[j] = now;
        update(model, { frequencies: next });
      },
    });
    attr(on.input, { "aria-label": `Hand that rotates once in ${label} positions` });
    on.el.prepend(face.svg);
    return { ...face, on };
  });

  const curve = over(FAR, "offset δ", redraw);
  const [fromHere, fromZero] = [stroke("blue", 2.5), stroke("orange", 2.5)];
  attr(fromZero, { "stroke-dasharray": "5 7" });
  const spot = s("circle", { r: 5, fill: "var(--d2lx-ink)" });
  const ends = pool(curve.svg, "text", { class: "d2lx-tick", x: LEFT - 6, "text-anchor": "end" })(
    2,
  );
  const zero = s("path", { class: "d2lx-axis" });
  curve.svg.append(zero, fromHere, fromZero, spot);
  const found = [readout("p(i)·p(i+δ)", "here", 6), readout("p(0)·p(δ)", "there", 6)];
  const formula = formulaLine();
  const el = columns({
    result: [
      map.el,
      h("div", { class: "d2lx-clocks" }, ...hands.map(({ on }) => on.el)),
      curve.el,
      readoutRow(...found.map((one) => one.el)),
    ],
    controls: [
      position.el,
      offset.el,
      toolRow(
        button("Fastest hand only", () =>
          update(model, { frequencies: SPEEDS.map((_, j) => j === 0) }),
        ),
        resetButton(model, MOVED),
      ),
    ],
    more: [
      formula,
      noteLine(
        "Map: dark 1, light −1. Hands: long at i, short at i+δ; below: positions per rotation. Curve: from i, dashed from 0.",
      ),
    ],
  });

  function paint(/** @type {boolean[]} */ on) {
    if (painted === on.join()) return;
    painted = on.join();
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.clearRect(0, 0, PLACES, WIDTH);
    for (let i = 0; i < PLACES; i++)
      encoding(i, WIDTH).forEach((x, k) => {
        if (!on[k >> 1]) return;
        context.fillStyle = `rgb(${inkRgb((1 + x) / 2)})`;
        context.fillRect(i, k, 1, 1);
      });
  }

  function draw() {
    const state = read();
    const { position: i, offset: by, frequencies: on } = state;
    sync(state);
    const wide = map.X(1) - LEFT;
    const left = LEFT - wide / 2;
    canvas.style.cssText = `height:${TALL}px;image-rendering:pixelated;left:${left}px;top:${TOP}px;width:${PLACES * wide}px`;
    paint(on);
    marks.forEach(({ column, label }, k) => {
      const x = left + (i + k * by) * wide;
      attr(column, { x, width: wide });
      attr(label, { x: x + (k ? 0 : wide), "text-anchor": k ? "start" : "end" });
    });
    const [p, q] = [encoding(i, WIDTH), encoding(i + by, WIDTH)];
    hands.forEach(({ set, on: tick }, j) => {
      set(p, q, by, on[j]);
      tick.set(on[j]);
    });

    const [mine, first] = [i, 0].map((from) => OFFSETS.map((delta) => product(from, delta, on)));
    const limits = [Math.max(1, on.filter(Boolean).length), Math.floor(Math.min(0, ...first))];
    const Y = (/** @type {number} */ y) => TOP + (TALL * (limits[0] - y)) / (limits[0] - limits[1]);
    const line = (/** @type {number[]} */ ys) =>
      `M${ys.map((y, k) => [curve.X(k), Y(y)]).join("L")}`;
    attr(fromHere, { d: line(mine) });
    attr(fromZero, { d: line(first) });
    attr(zero, { d: `M${LEFT} ${Y(0)}H${curve.X(FAR)}` });
    ends.forEach((text, k) =>
      attr(text, { y: Y(limits[k]) + 4 }).replaceChildren(fixed(limits[k], 0)),
    );
    attr(spot, { cx: curve.X(by), cy: Y(mine[by]) });
    found[0].set(mine[by]);
    found[1].set(first[by]);
    const parts = SPEEDS.filter((_, j) => on[j]).map((speed) => fixed(Math.cos(speed * by)));
    const sum = parts.join(" + ").replaceAll("+ −", "− ");
    formula.textContent = `p(${i})·p(${i + by}) = Σ cos(ωδ) = ${sum || "0"} = ${fixed(mine[by], 3)}: no i in it.`;
    announce(
      el,
      `p(${i})·p(${i + by}) = ${fixed(mine[by], 3)}; p(0)·p(${by}) = ${fixed(first[by], 3)}`,
    );
  }
  return { el, draw };
}
