import {
  announce,
  atEnd,
  attr,
  begin,
  bind,
  button,
  choice,
  clamp,
  fixed,
  formulaLine,
  h,
  headLine,
  knobs,
  more,
  noteLine,
  oneOf,
  onKeys,
  presets,
  reader,
  readout,
  readoutRow,
  resetButton,
  toolRow,
  update,
  whole,
} from "../kit/index.js";
import * as softmax from "./arithmetic.js";
import { HIGH, scene } from "./scene.js";

const NAMES = ["scores", "tile", "step", "running", "shift"];
const [TILES, FAR, LARGE] = [[1, 2, 4], 16, 12];
const { written } = softmax;

/** A strip in pieces: { el, track, set(shares) }. @param {string} label @param {string} kind */
function strip(label, kind) {
  const track = h("div", { class: "d2lx-track" });
  const el = h("div", { class: `d2lx-strip ${kind}` }, h("span", {}, label), track);
  const set = (/** @type {number[]} */ shares) =>
    track.replaceChildren(
      ...shares
        .filter((share) => share > 0)
        .map((share) => h("i", { style: `width:${100 * clamp(share, 0, 1)}%` })),
    );
  return { el, track, set };
}

function render({ model, el }) {
  begin(el, "Running softmax");
  const read = /** @type {() => any} */ (reader(model, [...NAMES, "values"]));
  const { values } = read();
  const counted = () => Math.ceil(values.length / model.get("tile"));
  // A link may say more steps than there are tiles.
  const stepNow = () => Math.min(model.get("step"), counted());
  const found = () => {
    const { scores, shift, ...state } = read();
    return softmax.passes({ ...state, scores: scores.map((x) => x + shift) });
  };
  const go = (/** @type {number} */ by) =>
    update(model, { step: clamp(stepNow() + by, 0, counted()) });

  const keys = scene(
    values,
    (i, score) =>
      update(model, { scores: model.get("scores").map((x, k) => (k === i ? score : x)) }),
    () => live?.redraw(),
  );
  const [back, next] = [button("Back", () => go(-1)), button("Next tile", () => go(1))];
  const steps = toolRow(back, next, resetButton(model, NAMES));
  onKeys(steps, (key) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by) go(by);
    return Boolean(by);
  });

  const said = h("p", { class: "d2lx-step" });
  const cells = [
    ["M", "largest", "largest"],
    ["s", "sum", "sum"],
    ["u", "values", "values"],
  ].map(([letter, words, name]) => {
    const data = h("data", { "data-name": name });
    return { data, el: h("div", {}, h("span", {}, h("b", {}, letter), ` ${words}`), data) };
  });
  const memory = h("div", { class: "d2lx-kept" }, ...cells.map((cell) => cell.el));
  const [before, after] = [strip("s before", "d2lx-was"), strip("s now", "d2lx-is")];
  const [sumLine, valuesLine] = [formulaLine(), formulaLine()];
  const [answer, full] = [readout("Output u / s", "answer"), readout("Full softmax", "full")];
  const equal = h("span", { class: "d2lx-equal" });
  const cost = headLine();

  const tile = choice({
    label: "Keys in a tile",
    options: TILES.map(String),
    // As many keys as were read, or the fewer that whole tiles hold.
    onchange: (i) =>
      update(model, {
        tile: TILES[i],
        step: Math.floor((stepNow() * model.get("tile")) / TILES[i]),
      }),
  });
  const { tick, count, sync } = knobs(model);
  const running = tick("running", "Subtract the largest score so far");
  const shift = count("shift", "Added to every score", 0, FAR, { text: written });
  const large = presets(model, [["Scores far too large", { shift: LARGE }]]);
  const result = readoutRow(answer.el, full.el, equal);
  el.append(
    h(
      "div",
      { class: "d2lx-pair" },
      h("div", {}, keys.el, steps),
      h("div", {}, memory, said, sumLine, valuesLine, result),
    ),
    more(
      model,
      ["running", "shift", "tile"],
      [
        ...[cost, before.el, after.el],
        ...[tile.el, running.el, shift.el, toolRow(...large)],
        noteLine(
          "Drag the top of a bar, or move it with the arrow keys. Hollow bars have been read and forgotten.",
        ),
      ],
    ),
  );
  let drawn = 0;

  function draw() {
    const state = read();
    const [step, all] = [stepNow(), found()];
    const [then, now] = [all[Math.max(0, step - 1)], all[step]];
    const ends = [step === 0, step === counted()];
    [back, next].forEach((hand, k) => atEnd(hand, ends[k]));
    const what = state.tile === 1 ? "key" : "tile";
    next.textContent = ends[1]
      ? `All ${what}s have been read`
      : `Next ${what} (${step + 1} of ${counted()})`;
    keys.set(state, now);
    tile.set(TILES.indexOf(state.tile));
    sync(state);
    cells[0].el.hidden = !state.running;
    [now.largest, now.sum, now.weighed].forEach((x, i) => {
      attr(cells[i].data, { value: x }).textContent = written(x);
    });
    const text = softmax.told(then, now, state.running);
    said.textContent = text;
    const [sum, weighed] = now.last ? softmax.lines(then, now, values) : ["0", "0"];
    sumLine.textContent = `s = ${sum}`;
    valuesLine.textContent = `u = ${weighed}`;
    // A strip is as long as all keys would make it if each were the largest, or as 16 bits hold.
    const most = state.running ? values.length : softmax.MOST;
    const old = then.sum / most;
    before.set([old]);
    const parts = [then.sum * now.shrink, ...now.powers.map((k) => 2 ** k)].map((x) => x / most);
    after.set(now.last ? parts : []);
    // The strip shrinks in sight, unless a reader wants no motion.
    if (
      step === drawn + 1 &&
      now.shrink < 1 &&
      !matchMedia("(prefers-reduced-motion: reduce)").matches
    )
      after.track.firstElementChild?.animate(
        [{ width: `${100 * old}%` }, { width: `${100 * parts[0]}%` }],
        700,
      );
    drawn = step;

    const [ours, theirs] = [
      now.weighed / now.sum,
      softmax.whole(
        state.scores.map((x) => x + state.shift),
        values,
      ),
    ];
    // Its room is kept, so that nothing below moves.
    result.style.visibility = ends[1] ? "" : "hidden";
    const print = (/** @type {Element} */ data, /** @type {number} */ x) => {
      const words = !now.last ? "none yet" : Number.isFinite(x) ? fixed(x, 3) : written(x);
      attr(data, { value: x }).textContent = words;
    };
    print(answer.data, ours);
    full.set(theirs);
    equal.textContent = ends[1] ? (Math.abs(ours - theirs) < 1e-9 ? "Equal." : "Not equal.") : "";
    cost.textContent = `Kept: ${state.running ? 3 : 2} numbers. A row of weights has ${values.length}.`;
    announce(
      el,
      `${step} of ${counted()} ${what}s read. ${text} s = ${sum}, u = ${weighed}, u / s = ${answer.data.textContent}. ${equal.textContent}`,
    );
  }
  const live = bind(model, NAMES, draw);
  return live.stop;
}

export default {
  render,
  rebuild: ["values"],
  share: {
    scores: whole(0, HIGH),
    tile: oneOf(TILES),
    step: whole(0, 8),
    running: oneOf([true, false]),
    shift: whole(0, FAR),
  },
};
