import {
  announce,
  bars,
  begin,
  bind,
  choice,
  clamp,
  columns,
  fixed,
  formulaLine,
  h,
  headLine,
  heatmap,
  knobs,
  linspace,
  noteLine,
  predictFirst,
  reader,
  resetButton,
  s,
  show,
  slider,
  softmax,
  toolRow,
  update,
  whole,
} from "../kit/index.js";
import { largest, leak, look, unpack } from "./forward.js";
import { headButtons, stream } from "./pictures.js";

const SWITCHES = {
  mask: "Causal mask: no position attends to a later one",
  positions: "Positional encoding",
  forced: "Read the correct answer, as in training",
};
const MOVED = ["word", "layer", "head", "position", ...Object.keys(SWITCHES)];
const [SHORTEST, LONGEST] = [2, 7];

const alphabet = (/** @type {any} */ network) =>
  "abcdefghijklmnopqrstuvwxyz".slice(0, network.parts["embedding.weight"][0][0] - 2);

/**
 * A dark line on a light one, which is seen on every cell in every theme, around some cells.
 * @param {Element} group @param {import("../kit/heatmap.js").Box} box of the first
 */
function frame(group, { width, height, ...place }, across = 1, down = 1) {
  const box = { ...place, width: width * across, height: height * down, fill: "none" };
  const lines = ["halo", "edge"].map((name) => s("rect", { ...box, class: `d2lx-${name}` }));
  group.replaceChildren(...lines);
}

function render({ model, el }) {
  el.classList.add("d2lx-xray");
  begin(el, "X-ray of a tiny Transformer that writes words backwards");
  const net = unpack(model.get("network"));
  const letters = alphabet(model.get("network"));
  const tokens = [...letters, ">", "."];
  const read = reader(model, MOVED);
  const spell = (list) => list.map((token) => tokens[token]).join("");
  const quote = (text) => `“${text}”`;
  const observe = () =>
    look(
      net,
      [...model.get("word")].map((letter) => letters.indexOf(letter)),
      read(),
    );
  let seen = observe();
  const at = () => clamp(model.get("position"), 0, seen.read.length - 1);

  // What a shorter word leaves over comes back when it grows.
  let [kept, typed] = [model.get("word"), model.get("word")];
  const retype = (/** @type {string} */ word) => {
    typed = word;
    kept = word + kept.slice(word.length);
    update(model, { word });
  };
  const selects = linspace(0, LONGEST - 1, LONGEST).map((i) => {
    const select = h("select", {
      "aria-label": `Letter ${i + 1}`,
      onchange: () =>
        retype([...model.get("word")].map((x, j) => (j === i ? select.value : x)).join("")),
    });
    select.append(...[...letters].map((letter) => h("option", {}, letter)));
    return select;
  });
  const [low, high] = model.get("lengths");
  const sizes = linspace(SHORTEST, LONGEST, LONGEST - SHORTEST + 1);
  const length = choice({
    label: `Letters (training: ${low} to ${high})`,
    options: sizes.map(String),
    onchange(i) {
      const word = model.get("word") + kept.slice(model.get("word").length);
      retype(word.padEnd(LONGEST, letters).slice(0, sizes[i]));
    },
  });
  const { tick, sync } = knobs(model);
  const boxes = Object.entries(SWITCHES).map(([name, label]) => tick(name, label));
  const right = h("data", { "data-name": "right" });
  const [told, later] = [h("span"), h("span")];
  const lens = heatmap({
    label: "Predictions of the next token, after each layer",
    rows: ["embedding", ...linspace(1, net.layers, net.layers).map((i) => `layer ${i}`)],
    columns: [">"],
    ...{ rowTitle: "after", columnTitle: "last token read", cellHeight: 28 },
    onpick(_, j) {
      inside.open = true;
      update(model, { position: model.get("word").length + j });
    },
  });
  const leaked = h("data", { "data-name": "leak" });
  const here = h("span");

  const title = headLine();
  const map = heatmap({
    label: "Attention weights of the head shown",
    ...{ rows: ["a"], columns: ["a"], rowTitle: "query", columnTitle: "key", maxCell: 32 },
  });
  const place = slider({
    ...{ label: "Position", min: 1, max: 2 * LONGEST + 1, step: 1, value: 1 },
    text: (x) => `${Math.round(x)} of ${seen.read.length}, ${tokens[seen.read[Math.round(x) - 1]]}`,
    oninput: (x) => update(model, { position: Math.round(x) - 1 }),
  });
  const heads = headButtons(net.layers, net.heads, (layer, head) => update(model, { layer, head }));
  const predict = predictFirst({
    question: "At the position chosen above, which position has this head's largest weight?",
    ...{ label: "Your guess: position", min: 1, max: 2 * LONGEST + 1, step: 1, digits: 0 },
    answer: () => 1 + largest(seen.weights[model.get("layer")][model.get("head")][at()]),
    covered: [map.el, heads.el],
    onchange: () => live?.redraw(),
  });
  const [sumsTitle, chancesTitle] = [0, 1].map(() => headLine());
  const sums = stream(seen.steps.map((step) => step.name));
  const chances = bars({ label: "Probability of each next token" });
  const inside = h("details");
  el.append(
    h("fieldset", {}, h("legend", {}, "Input word"), toolRow(...selects)),
    length.el,
    columns({
      result: [
        headLine("Prediction of the next token"),
        lens.el,
        formulaLine(told, right, " tokens are correct.", later),
      ],
      controls: [
        ...boxes.map((box) => box.el),
        noteLine(here, leaked, "."),
        toolRow(resetButton(model, MOVED, predict.stop)),
      ],
    }),
    inside,
  );
  // The rest asks for a place first: a tap on a cell, or a link to what is inside, opens it.
  inside.open = MOVED.slice(1, 4).some(
    (name) => model.get(name) !== (model.first ?? model.get)(name),
  );
  inside.append(
    h("summary", {}, "Inspect one position"),
    columns({
      result: [title, map.el],
      controls: [
        place.el,
        noteLine("All heads, with their average weight on the letter to be predicted, from > on:"),
        heads.el,
        predict.el,
      ],
    }),
    columns({
      result: [
        sumsTitle,
        sums.el,
        noteLine(net.pre ? "The input of each part is normalised." : "Each sum is normalised."),
      ],
      controls: [chancesTitle, chances.el],
    }),
  );

  let [drawn, framed] = ["", ""];
  function drawWord(/** @type {Record<string, any>} */ { word, ...switches }) {
    seen = observe();
    // Nothing is left over of a word that Reset, a link or Python has replaced.
    if (word !== typed) kept = typed = word;
    const n = word.length;
    selects.forEach((select, i) => {
      select.hidden = i >= n;
      if (i < n) select.selectedIndex = letters.indexOf(word[i]);
    });
    length.set(n - SHORTEST);
    sync(switches);
    for (const range of [place.range, predict.range]) range(1, seen.read.length);
    heads.set(seen.weights, seen.shares);
    told.textContent = switches.forced
      ? `The model reads ${quote(spell(seen.read))} and predicts ${quote(spell(seen.says))}: `
      : `The model reads ${quote(word)} and writes ${quote(spell(seen.written))}: `;
    show(right, seen.right, 0);
    right.append(` of ${n + 1}`);
    // It writes when nothing later is there; what is shown above is said once all is.
    later.textContent =
      switches.forced || String(seen.says) === String(seen.written)
        ? ""
        : ` If it then reads all of this at once, it predicts ${quote(spell(seen.says))}.`;
  }
  function draw() {
    const { layer, head, position: _, ...state } = read();
    const { word, ...switches } = state;
    const now = Object.values(state).join();
    if (now !== drawn) drawWord(state);
    drawn = now;
    const [n, t] = [word.length, at()];
    const next = [now, layer, head, t].join();
    if (next !== framed) predict.refresh();
    framed = next;
    const names = seen.read.map((token) => tokens[token]);
    const found = seen.lens.map((rows) => rows.map((scores) => softmax(scores)));
    const asked = found.map((rows) => rows.slice(n));
    const wrong = (i, j) => largest(asked[i][j]) !== seen.truth[j];
    lens.set(
      asked.map((rows) => rows.map((row) => Math.max(...row))),
      {
        columns: names.slice(n),
        mark: (i, j) => tokens[largest(asked[i][j])] + (i === net.layers && wrong(i, j) ? "✗" : ""),
        say: (i, j) => (wrong(i, j) ? `wrong: ${tokens[seen.truth[j]]} is correct` : "correct"),
        over(group, box) {
          group.replaceChildren();
          if (t >= n) frame(group, box(0, t - n), 1, asked.length);
        },
      },
    );
    place.set(t + 1);
    here.textContent = `Without the later positions, the logits at position ${t + 1} would differ by at most `;
    show(leaked, leak(net, seen.read, seen.lens[net.layers], t, switches));
    title.textContent = `Layer ${layer + 1}, head ${head + 1}`;
    heads.choose(layer, head);
    map.set(seen.weights[layer][head], {
      ...{ rows: names, columns: names },
      over: (group, box) => frame(group, box(t, 0), names.length),
      mask: (i, j) => !switches.mask || j <= i,
      say: (i, j) =>
        `from position ${i + 1} to position ${j + 1}${i >= n && i + j === 2 * n - 1 ? ", the letter to be predicted" : ""}`,
    });
    const last = found[net.layers][t];
    const spot = `position ${t + 1}, ${names[t]}`;
    sumsTitle.textContent = `Length of the vector at ${spot}`;
    sums.set(seen.steps, t);
    chancesTitle.textContent = `Probability of the next token at ${spot}`;
    chances.set(last, tokens);
    const most = largest(seen.weights[layer][head][t]);
    announce(
      el,
      `${told.textContent}${seen.right} of ${n + 1} correct.${later.textContent} At ${spot}: ${tokens[largest(last)]} next, ${fixed(Math.max(...last))}. ${title.textContent} has its largest weight at position ${most + 1}, ${names[most]}`,
    );
  }
  const live = bind(model, MOVED, draw);
  return live.stop;
}

const small = whole(0, 2 * LONGEST);
export default {
  render,
  rebuild: ["network", "lengths"],
  share: {
    word: (x, get) =>
      [...x].every((letter) => alphabet(get("network")).includes(letter)) &&
      whole(SHORTEST, LONGEST)(x.length),
    layer: (x, get) => small(x) && x < unpack(get("network")).layers,
    head: (x, get) => small(x) && x < get("network").heads,
    position: small,
    ...Object.fromEntries(Object.keys(SWITCHES).map((name) => [name, () => true])),
  },
};
