import {
  announce,
  attr,
  bind,
  button,
  disc,
  fixed,
  h,
  headLine,
  linspace,
  plot,
  pool,
  resetButton,
  s,
  show,
  slider,
  stroke,
  toolRow,
  update,
} from "../kit/index.js";
import { neighbours, SPEEDS, turn } from "./arithmetic.js";

/** Two turns of the hands: what swings does so twice. */
export const MOST = 12;
const APART = 2; // places from the query to the key; at 3, half a turn, an added product stays, too
const [UNIT, PACE] = [22, 1.8]; // pixels of a length of 1; places a second while it plays
const places = (/** @type {number} */ x) =>
  `${Math.round(x)} position${Math.round(x) === 1 ? "" : "s"}`;
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @param {number[]} hand */
const spot = ([x, y], by = UNIT) => `${(x * by).toFixed(2)} ${(-y * by).toFixed(2)}`;

/**
 * One way with a place: its dial, the product, and the curve as far as the words have moved.
 * @param {"added" | "turned"} way
 * @param {() => void} onresize
 */
function half(way, onresize) {
  const added = way === "added";
  const title = added ? way : "rotated";
  const hands = [stroke("blue", 4), stroke("orange", 4)];
  // Added: what both said before, and the hand of each place, put to its end. Turned: the angle.
  const before = added
    ? stroke("line", 1.5, { d: `M0 0L${spot([2, 0])}` })
    : s("path", { fill: "var(--d2lx-soft)" });
  const own = added ? [stroke("ink", 1.5), stroke("ink", 1.5)] : [];
  const letter = (/** @type {string} */ text) =>
    s("text", { class: "d2lx-tick", "text-anchor": "middle" }, text);
  const tips = [letter("q"), letter("k")];
  const angle = letter("");
  const rim = s("circle", {
    ...{ cx: added ? 2 * UNIT : 0, r: added ? UNIT : 2 * UNIT, fill: "none" },
    ...{ stroke: "var(--d2lx-line)", "stroke-dasharray": "3 4" },
  });
  const svg = s("svg", { viewBox: `${added ? -28 : -64} -60 128 120`, "aria-hidden": "true" });
  svg.append(before, rim, ...hands.toReversed(), ...own, angle, ...tips);
  const product = h("data", { "data-name": way });
  const chart = plot({
    ...{ label: `Dot product, ${title}`, height: 140, pad: 24 },
    ...{ xLabel: "positions moved", yLabel: " ", onresize },
  });
  const [start, line] = [stroke("line", 1, { "stroke-dasharray": "2 4" }), stroke("ink", 2.5)];
  const marks = s("g");
  const dots = pool(marks, "circle", { r: 3, fill: "var(--d2lx-ink)" });
  const now = disc(6, "ink");
  chart.data.append(start, line, marks, now);
  const put = (/** @type {Element} */ text, /** @type {number[]} */ [x, y]) =>
    attr(text, { x: (x * UNIT).toFixed(2), y: (4 - y * UNIT).toFixed(2) });

  /**
   * @param {number} at how far both have moved @param {number} far how far at most so far
   * @param {number} apart from the query to the key
   */
  function set(at, far, apart) {
    const meet = (/** @type {number} */ moved) => neighbours(way, moved, apart);
    const { query, key, product: found } = meet(at);
    const both = [query, key];
    both.forEach((hand, i) => {
      attr(hands[i], { d: `M0 0L${spot(hand)}` });
      // Letters stand off each other, where hands may lie on one another; else beyond their hands.
      const from = added ? both[1 - i] : [0, 0];
      const off = apart ? [hand[0] - from[0], hand[1] - from[1]] : [0, 1 - 2 * i];
      const by = 0.5 / Math.hypot(...off);
      put(tips[i], [hand[0] + by * off[0], hand[1] + by * off[1]]);
      if (added) attr(own[i], { d: `M${spot([2, 0])}L${spot(hand)}` });
    });
    if (!added) {
      attr(before, {
        d: `M0 0L${spot(query, 11)}A${UNIT} ${UNIT} 0 0 0 ${spot(key, 11)}Z`,
      });
      angle.textContent = apart ? `${Math.round((apart * SPEEDS[0] * 180) / Math.PI)}°` : "";
      put(
        angle,
        turn(query, (apart * SPEEDS[0]) / 2).map((x) => 0.7 * x),
      );
    }
    show(product, found, 1);
    chart.limits([0, MOST + 0.4], [-5, 9]);
    const first = meet(0).product;
    chart.path(start, [
      [0, first],
      [MOST, first],
    ]);
    const count = Math.max(2, Math.round(10 * far) + 1);
    chart.path(
      line,
      linspace(0, far, count).map((x) => [x, meet(x).product]),
    );
    dots(Math.floor(far) + 1).forEach((dot, x) => {
      attr(dot, { cx: chart.X(x), cy: chart.Y(meet(x).product) });
    });
    attr(now, { cx: chart.X(at), cy: chart.Y(found) });
  }
  const el = h("div", {}, headLine(title), svg, h("p", {}, "dot product: ", product), chart.el);
  return { el, set };
}

/**
 * Move both words on together, or the key alone, and see what becomes of their product where
 * places are added, and where they turn. Hands glide to where they are sent, but for those who want no motion.
 * @param {import("../kit/life.js").Model} model
 * @param {HTMLElement} el
 */
export function together(model, el) {
  const moved = () => Math.round(model.get("moved"));
  let [at, far, last, waiting, plays] = [moved(), moved(), 0, 0, false];
  const halves = /** @type {const} */ (["added", "turned"]).map((way) => half(way, () => paint()));
  const where = headLine();
  const control = slider({
    ...{ label: "Move both words by", min: 0, max: MOST, step: 1, value: at },
    text: places,
    oninput(x) {
      run(false);
      update(model, { moved: Math.round(x) });
    },
  });
  const apart = () => Math.min(APART, Math.max(0, Math.round(model.get("distance"))));
  const gap = slider({
    ...{ label: "Distance to the key", min: 0, max: APART, step: 1, value: apart(), text: places },
    oninput: (x) => update(model, { distance: Math.round(x) }),
  });
  const film = button("Play", () => {
    const on = !plays;
    if (on && moved() === MOST) at = 0;
    run(on);
    // From the end it starts anew; stopped between two places, it goes on to the next.
    update(model, { moved: on ? Math.floor(at) : Math.ceil(at) });
  });
  film.classList.add("d2lx-play");
  const reset = resetButton(model, ["moved", "distance"], () => {
    run(false);
    at = far = (model.first ?? model.get)("moved");
    paint();
  });
  el.append(
    where,
    h("div", { class: "d2lx-turning d2lx-together" }, ...halves.map((one) => one.el)),
    h("div", {}, control.el, gap.el, toolRow(film, reset)),
  );

  function run(/** @type {boolean} */ on) {
    plays = on && !still();
    film.textContent = plays ? "Stop" : "Play";
    if (plays) go();
  }
  function go() {
    if (waiting) return;
    last = performance.now();
    waiting = requestAnimationFrame(tick);
  }
  function tick(/** @type {number} */ time) {
    waiting = 0;
    const seconds = Math.min(0.05, Math.max(0, time - last) / 1000);
    last = time;
    const goal = plays ? MOST : moved();
    const step = seconds * (plays ? PACE : 5 + 8 * Math.abs(goal - at));
    at = Math.abs(goal - at) <= step ? goal : at + Math.sign(goal - at) * step;
    if (plays && Math.floor(at) !== moved()) update(model, { moved: Math.floor(at) });
    if (plays && at === MOST) run(false);
    paint();
    if (at !== goal) waiting = requestAnimationFrame(tick);
  }
  function paint() {
    far = Math.max(far, at);
    for (const one of halves) one.set(at, far, apart());
  }
  function draw() {
    const n = moved();
    const on = apart();
    control.set(n);
    gap.set(on);
    where.textContent = `q at ${n}, k at ${n + on}`;
    const [added, turned] = ["added", "turned"].map((way) =>
      fixed(neighbours(way, n, on).product, 1),
    );
    const far = on === 1 ? "" : `, ${places(on)} apart`;
    announce(el, `Moved by ${n}${far}: dot product added ${added}, rotated ${turned}`);
    if (plays) return;
    if (still()) at = n;
    if (at === n) paint();
    else go();
  }
  const live = bind(model, ["moved", "distance"], draw);
  return () => {
    cancelAnimationFrame(waiting);
    live.stop();
  };
}
