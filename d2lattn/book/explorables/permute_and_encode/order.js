// The first view: words change places. What becomes of their output rows?
import {
  announce,
  button,
  clip,
  columns,
  h,
  headLine,
  heatmap,
  knobs,
  predictFirst,
  reader,
  resetButton,
  toolRow,
  update,
} from "../kit/index.js";
import { compare, moved, permutation } from "./arithmetic.js";
import { outputRows, SAME } from "./rows.js";
import { tokenRow } from "./tokens.js";

const MOVED = ["order", "positions", "word"];

// Words that come twice are told apart by where they stood at first; a clock counts from 0.
const named = (/** @type {string[]} */ words, /** @type {number} */ first) =>
  words.map((word, t) => {
    const twice = words.indexOf(word) !== words.lastIndexOf(word);
    return clip(word, 16) + (twice ? "₀₁₂₃₄₅₆₇₈"[first + t] : "");
  });

/** @param {import("../kit/life.js").Model} model @param {() => void} redraw */
export function orderView(model, redraw) {
  const read = /** @type {() => import("./arithmetic.js").Sentence} */ (
    /** @type {unknown} */ (
      reader(model, ["tokens", "embeddings", "W_q", "W_k", "W_v", "clock", ...MOVED])
    )
  );
  const start = read();
  const lowest = start.clock ? 0 : 1;
  const names = named(start.tokens, lowest);
  const [n, asked] = [names.length, start.word];
  const orderNow = () => permutation(model.get("order"));
  function move(/** @type {number} */ t, /** @type {number} */ place) {
    const order = orderNow();
    if (place < 0 || place >= n || order[place] === t)
      announce(rows.el, `${names[t]} is at the end`);
    else update(model, { order: moved(order, t, place), word: t });
  }
  // Each word to a place at random.
  const shuffled = () =>
    orderNow().reduce((order, t) => moved(order, t, Math.floor(Math.random() * n)), orderNow());

  const pick = (/** @type {number} */ t) => update(model, { word: t });
  const row = tokenRow(names, move, pick);
  // Whoever cannot drag picks a word with a tap, and these move it.
  const steps = [-1, 1].map((by) =>
    h(
      "button",
      {
        ...{ type: "button", "aria-label": `Move the picked word ${by < 0 ? "left" : "right"}` },
        onclick() {
          const t = model.get("word");
          move(t, orderNow().indexOf(t) + by);
        },
      },
      by < 0 ? "◀" : "▶",
    ),
  );
  const { tick, sync } = knobs(model);
  const positions = tick("positions", "Add positions");
  const rows = outputRows(names, start.W_v.length, redraw);
  const verdict = headLine();
  const matrix = heatmap({
    ...{ label: "Weights in this order", rows: names, columns: names },
    ...{ rowTitle: "word", columnTitle: "attends to" },
  });
  const predict = predictFirst({
    question: `By how much will the output for “${names[asked]}” change?`,
    label: "Your guess: ‖y′ − y‖",
    ...{ min: 0, max: 2, step: 0.01 },
    answer: () => compare(read()).changes[asked],
    covered: [rows.el, verdict],
    onchange: redraw,
  });
  for (const name of MOVED.slice(0, 2)) model.on(`change:${name}`, predict.refresh);
  const el = columns({
    result: [headLine("Each word’s output"), rows.el, verdict],
    controls: [row.el, positions.el, toolRow(resetButton(model, MOVED, () => predict.stop()))],
  });
  const first = button("First order", () =>
    update(model, { order: start.tokens.map((_, t) => t) }),
  );
  const further = {
    controls: [
      toolRow(
        ...steps,
        button("Shuffle", () => update(model, { order: shuffled() })),
        first,
      ),
      predict.el,
    ],
    more: [headLine("Attention weights"), matrix.el],
  };

  function draw() {
    const state = read();
    const found = compare(state);
    const { order, places, weights, changes } = found;
    const t = state.word;
    row.set(order, t, state.positions);
    sync(state);
    rows.set(found, t);
    const inOrder = order.map((one) => names[one]);
    matrix.set(weights, { rows: inOrder, columns: inOrder, row: places[t] });

    const others = changes.filter((change) => change >= SAME).length;
    const how = state.positions ? "With positions" : "Without positions";
    let told = `${how}: every output moved with its word, and none changed.`;
    if (others) told = `${how}: ${others} of ${n} outputs changed.`;
    if (found.still) told = `${how}: this is the first order. Move a word.`;
    verdict.textContent = told;

    announce(el, `${names[t]} at position ${places[t] + lowest}. ${told}`);
  }
  return { el, further, draw };
}
