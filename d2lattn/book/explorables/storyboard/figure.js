import {
  announce,
  atEnd,
  attr,
  begin,
  bind,
  button,
  clamp,
  clip,
  fixed,
  h,
  more,
  onKeys,
  predictOne,
  reader,
  resetButton,
  toolRow,
  update,
  whole,
} from "../kit/index.js";
import { map } from "./map.js";
import { compute, glance, PICTURES, quote, ranked, tell } from "./steps.js";
import { table } from "./tables.js";

const BUILT = [
  ...["source", "target", "values", "states", "scores"],
  ...["embeddings", "candidates", "chances", "widths"],
];
// Where the reader predicts, nothing is shown from the scores on.
const [ASK, NORMALISE] = [2, 4];

function render({ model, el }) {
  begin(el, "Storyboard: how a translator writes one word");
  const moved = ["word", "picture", "film"];
  const read = /** @type {() => import("./steps.js").Board} */ (
    /** @type {unknown} */ (reader(model, [...BUILT, ...moved]))
  );
  const { source, target } = read();
  const count = PICTURES.length;
  let guessedFor = -1;
  const most = () => (ask.hidden() ? ASK : count);
  // Shut, the figure shows one thing: where it looked before the word that is chosen.
  const open = () => model.get("film");
  const pictureNow = () => (open() ? Math.min(model.get("picture"), most()) : count);

  // One picture on or back; after the last comes the first of the next word.
  function go(by) {
    const word =
      model.get("word") + (ask.hidden() ? 0 : Math.floor((pictureNow() - 1 + by) / count));
    const picture = pictureNow() + by;
    if (word < 0 || word >= target.length || (ask.hidden() && (picture < 1 || picture > ASK)))
      return;
    update(model, { word, picture: ((picture - 1 + count) % count) + 1 });
  }

  // Not disabled while they would tell the answer: the focus stays where the reader left it.
  const names = PICTURES.map((name, k) =>
    button(name, () => k < most() && update(model, { picture: k + 1 })),
  );
  const words = target.map((one, i) => button(clip(one, 16), () => update(model, { word: i })));
  const chosen = {
    class: "d2lx-tools d2lx-words d2lx-chips",
    role: "group",
    "aria-label": "Words that are written",
  };
  const sentence = h("div", chosen, ...words);
  // What is focused must be there at once, and not only when the figure is drawn.
  const first = button("Step by step", () => {
    update(model, { film: true, picture: 1 });
    curtain(true);
    names[0].focus();
  });
  const fold = more(model, ["film"], [toolRow(first)]);
  const film = h("div", { class: "d2lx-film", role: "group", "aria-label": "Pictures" }, ...names);
  const [back, next] = [button("Back", () => go(-1)), button("Next", () => go(1))];
  const said = h("p", { class: "d2lx-said" });
  const numbers = h("div");
  const drawing = map(source, () => live?.redraw());
  const stage = h("div", { class: "d2lx-result", tabindex: 0, role: "group" }, drawing.el);

  const ask = predictOne({
    question: "",
    options: source,
    opening: "The weights are hidden. Choose a source word, then reveal them.",
    judge(guess) {
      const { weights } = compute(read());
      const best = ranked(weights)[0];
      const [mine, its] = [guess, best].map((t) => `${quote(source[t])}`);
      return guess === best
        ? `You chose ${mine}. It has the largest weight, ${fixed(weights[best])}.`
        : `You chose ${mine}, whose weight is ${fixed(weights[guess])}. The largest weight, ${fixed(weights[best])}, is on ${its}.`;
    },
    onchange() {
      guessedFor = model.get("word");
      update(model, { picture: ask.hidden() ? ASK : NORMALISE });
      live.redraw();
    },
  });
  const reset = resetButton(model, moved, ask.stop);
  reset.addEventListener("click", () => {
    curtain(open());
    if (!open()) first.focus();
  });
  const tools = toolRow(back, next, ask.toggle, ask.leave, reset);
  function curtain(/** @type {boolean} */ up) {
    for (const one of [film, tools, numbers]) one.hidden = !up;
    fold.hidden = up;
    attr(columns, { class: up ? "d2lx-columns" : null });
  }
  const columns = h(
    "div",
    {},
    h("div", {}, sentence, film, tools, ask.form, ask.verdict, stage),
    h("div", {}, said, numbers),
    fold,
  );
  el.append(columns);
  onKeys(el, (key, event) => {
    const at = /** @type {Element} */ (event.target);
    const along = { ArrowLeft: -1, ArrowRight: 1 }[key];
    const by = along ?? { ArrowUp: -1, ArrowDown: 1 }[key];
    if (at.matches("input") || !by) return;
    if (open() && along) go(along);
    else if (at === stage)
      update(model, { word: clamp(model.get("word") + by, 0, target.length - 1) });
    else return;
    return true;
  });

  function draw() {
    const board = read();
    const shown = pictureNow();
    const now = compute(board);
    if (guessedFor !== board.word) {
      guessedFor = board.word;
      ask.forget();
    }
    ask.question.replaceChildren(
      `Which source word gets the largest weight before ${quote(now.next)} is written?`,
    );
    words.forEach((one, i) => {
      attr(one, {
        dir: "auto",
        "aria-pressed": String(i === board.word),
        class: ["d2lx-written", "d2lx-now", "d2lx-later"][Math.sign(i - board.word) + 1],
      });
    });
    names.forEach((one, k) => {
      attr(one, {
        class: k + 1 === shown ? "d2lx-now" : null,
        "aria-current": k + 1 === shown ? "step" : null,
        "aria-disabled": k < most() ? null : "true",
      });
    });
    const ends = [
      shown === 1 && (ask.hidden() || board.word === 0),
      ask.hidden() ? shown === ASK : shown === count && board.word === target.length - 1,
    ];
    [back, next].forEach((one, k) => atEnd(one, ends[k]));
    drawing.set(now, shown, open());
    attr(stage, {
      "aria-label": open()
        ? "Drawing of the step. Left and right arrow keys: the pictures. Up and down: the words."
        : "Drawing of the weights. Arrow keys: the words.",
    });
    curtain(open());
    const text = open() ? tell(board, shown) : glance(board);
    said.textContent = text;
    numbers.replaceChildren(...table(board, now, shown));
    announce(el, open() ? `${shown} of ${count}. ${text}` : text);
  }
  const live = bind(model, moved, draw);
  return live.stop;
}

export default {
  render,
  rebuild: BUILT,
  share: {
    word: (x, get) => whole(0, get("target").length - 1)(x),
    picture: whole(1, PICTURES.length),
    film: (x) => typeof x === "boolean",
  },
};
