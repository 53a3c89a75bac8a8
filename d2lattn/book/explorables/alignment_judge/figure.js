import {
  announce,
  attr,
  begin,
  bind,
  button,
  columns,
  fixed,
  formulaLine,
  h,
  headLine,
  heatmap,
  knobs,
  linspace,
  noteLine,
  onCanvas,
  oneOf,
  outlined,
  plot,
  reader,
  resetButton,
  s,
  show,
  stroke,
  tableOf,
  toolRow,
  update,
  weightsOf,
  whole,
  within,
} from "../kit/index.js";

const RULES = ["argmax", "threshold"];
// The numbers of the fraction: of links A with sure links S and possible links P.
const TERMS = ["|A ∩ S|", "|A ∩ P|", "|A|", "|S|"];

// A link of source word i and target word t of a sentence with n source words is the number t n + i.
const asSet = (links, n) => new Set(links.map(([i, t]) => t * n + i));

// The links that are read off the weights: by the largest in each row, or by a threshold.
function readLinks(
  { weights, source, target },
  /** @type {Record<string, any>} */ { rule, threshold, shift },
) {
  const n = source.length;
  const found = new Set();
  weights.forEach((row, t) => {
    if (t + shift < 0 || t + shift >= target.length) return;
    const most = row.indexOf(Math.max(...row));
    row.forEach((weight, i) => {
      if (rule === "argmax" ? i === most : weight >= threshold) found.add((t + shift) * n + i);
    });
  });
  return found;
}

// The sign for the end, to which a model may attend, is no word that could be linked.
const countWords = (source) =>
  source.length - Number(source.length > 1 && source.at(-1) === "<eos>");

// Each target word with the source word at the same share of the sentence.
function diagonal({ source, target }) {
  const [n, m] = [countWords(source), target.length];
  return new Set(target.map((_, t) => t * source.length + Math.floor(((2 * t + 1) * n) / (2 * m))));
}

// [|A ∩ S|, |A ∩ P|, |A|, |S|]
const counts = (A, { sure, possible }) => {
  const both = (links) => links.filter((link) => A.has(link)).length;
  return [both(sure), both(possible), A.size, sure.length];
};

// The mean of these over all ways to give each target word one source word.
const uniformCounts = ({ source, target, sure, possible }) => [
  sure.length / countWords(source),
  possible.length / countWords(source),
  target.length,
  sure.length,
];

const add = (lists) =>
  lists.reduce((total, list) => total.map((x, i) => x + list[i]), [0, 0, 0, 0]);
// Precision, recall and alignment error rate; NaN where nothing is there to count.
const scores = ([inSure, inPossible, size, sure]) => [
  inPossible / size,
  inSure / sure,
  1 - (inSure + inPossible) / (size + sure),
];

function render({ model, el }) {
  begin(el, "Alignment judge");
  const back = ["sentence", "rule", "threshold", "shift", "marking"];
  const moved = [...back, "marks"];
  // Shorter to write: weights come in ten-thousandths, where most are 0 as { place: weight }, and
  // possible links without the sure ones.
  const unpack = ({ sure, possible, ...one }) => {
    const [source, target] = [one.source, one.target].map((words) => words.split?.(" ") ?? words);
    const weights = one.weights.map((row) => weightsOf(row, source.length));
    return { ...one, source, target, weights, sure, possible: [...sure, ...possible] };
  };
  const sentences = model.get("sentences").map(unpack);
  const all = reader(model, moved);
  // Python may have put fewer sentences in place of those at the start.
  const read = () => {
    const state = all();
    state.sentence = Math.min(state.sentence, sentences.length - 1);
    return state;
  };
  const marksOf = (state, k) => state.marks[k] ?? [];
  // Of the sentence shown; no other one's are touched.
  const mark = (/** @type {(mine: number[][]) => number[][]} */ change) => {
    const state = read();
    const marks = sentences.map((_, k) => marksOf(state, k));
    marks[state.sentence] = change(marks[state.sentence]);
    update(model, { marks });
  };
  const title = ({ source }, k) => `${k + 1}. ${source.join(" ")}`;

  const { number, count, pick, sync } = knobs(model);
  const sentence = pick("sentence", "Sentence", sentences.map(title));
  const rule = pick("rule", "Read links by", ["largest weight", "threshold"], RULES);
  const threshold = number("threshold", "Threshold", 0, 1);
  const shift = count("shift", "Shift of links", -1, 1, {
    text: (x) => ["to the word before", "none", "to the word after"][Math.round(x) + 1],
  });
  const toggle = button("", () => {
    const marking = !model.get("marking");
    update(model, { marking });
    // The button cannot be pressed again before there is a mark.
    if (marking) matrix.stage.focus();
  });
  const leave = button("No guess: show it", () => {
    update(model, { marking: false });
    toggle.focus();
  });
  const clear = button("Clear marks", () => mark(() => []));
  const verdict = h("p", { class: "d2lx-verdict" });

  const who = ["Model", "Diagonal", "Uniform", "You"];
  const what = ["precision", "recall", "error", "all"];
  const cell = who.map((name) =>
    what.map((score) => h("data", { "data-name": `${name.toLowerCase()}-${score}` })),
  );
  const allHead = h("th", { scope: "col" });
  const table = tableOf(
    { class: "d2lx-judged" },
    ["Links", "Precision", "Recall", "AER", allHead],
    who.map((name, i) => [name, ...cell[i]]),
  );
  const note = noteLine("AER: alignment error rate. Uniform: random links.");
  const formula = formulaLine();
  // A number of the fraction is a set of cells: pressed, it shows which.
  let lit = -1;
  const terms = TERMS.map((_, k) => {
    const term = button("", () => {
      lit = lit === k ? -1 : k;
      live.redraw();
    });
    return attr(term, { class: "d2lx-term" });
  });
  const result = h("span");
  const fraction = formulaLine(
    ...["AER = 1 − (", terms[0], " + ", terms[1], ") / (", terms[2], " + ", terms[3], ")", result],
  );
  // Over the threshold, all sentences of the model: told apart by dashes, and not by colour alone.
  const chart = plot({
    ...{ label: "Scores over threshold", height: 150 },
    ...{ xLabel: "threshold", yLabel: "score" },
    onresize: () => live?.redraw(),
  });
  const looks = [
    ["precision", "var(--d2lx-blue)", "none"],
    ["recall", "var(--d2lx-green)", "7 4"],
    ["AER", "var(--d2lx-orange)", "2 3"],
  ];
  const curves = looks.map(([, colour, dashes]) =>
    s("path", { class: "d2lx-line", style: `stroke:${colour}`, "stroke-dasharray": dashes }),
  );
  const at = stroke("ink", 1.5);
  chart.data.append(...curves, at);
  const best = formulaLine();
  const key = (text, ...shapes) =>
    h(
      "span",
      { class: "d2lx-choice", style: "gap:4px;margin-right:10px" },
      s("svg", { width: 24, height: 18, "aria-hidden": "true" }, ...shapes),
      text,
    );
  const curvesKey = toolRow(
    ...looks.map(([text], i) => {
      const line = /** @type {Element} */ (curves[i].cloneNode());
      line.setAttribute("d", "M0 9h24");
      return key(text, line);
    }),
  );
  const over = h("div", {}, chart.el, curvesKey, best);
  const results = h("div", {}, fraction, table, note, formula, over);

  // In the upper corners of a cell, or in its middle third where cells are small.
  const side = ({ width }) => Math.min(8, 0.3 * width);
  const dot = (box) =>
    s("circle", {
      cx: box.x + side(box),
      cy: box.y + side(box),
      r: Math.min(4, 0.7 * side(box)),
      fill: "var(--d2lx-blue)",
      stroke: "var(--d2lx-paper)",
    });
  const diamond = (box) => {
    const r = Math.min(5, 0.9 * side(box));
    return s("path", {
      d: `M${box.x + box.width - side(box) - r} ${box.y + side(box)}l${r} -${r} ${r} ${r} -${r} ${r}z`,
      fill: "var(--d2lx-orange)",
      stroke: "var(--d2lx-paper)",
    });
  };
  // A light line under a dark one: seen on every cell.
  const frame = (place, kind) => outlined(place, kind, kind === "sure" ? null : "4 3");
  const small = { x: 2, y: 2, width: 14, height: 14 };
  const legend = toolRow(
    key("sure", ...frame(small, "sure")),
    key("possible", ...frame(small, "possible")),
    key("model's link", dot({ x: 1, y: 1, width: 40 })),
    key("your link", diamond({ x: -23, y: 1, width: 40 })),
  );
  const matrix = heatmap({
    many: onCanvas,
    label: "Attention of the model",
    rows: sentences[0].target,
    columns: sentences[0].source,
    rowTitle: "target",
    columnTitle: "source",
    onpick(t, i) {
      mark((mine) => {
        const others = mine.filter(([a, b]) => a !== i || b !== t);
        return others.length < mine.length ? others : [...mine, [i, t]];
      });
    },
  });
  const whose = headLine("Attention of the model: rows target, columns source");
  el.append(
    sentence.el,
    columns({
      result: [whose, legend, matrix.el],
      controls: [
        rule.el,
        threshold.el,
        shift.el,
        toolRow(toggle, leave, clear, resetButton(model, back)),
        verdict,
      ],
      more: [results],
    }),
  );

  let drawn = "";
  function drawCurves(state) {
    over.hidden = state.rule === "argmax";
    if (over.hidden) return;
    chart.limits([0, 1], [0, 1]);
    const signature = [state.shift, chart.width()].join();
    if (signature !== drawn) {
      const steps = linspace(0, 1, 51);
      const found = steps.map((threshold) => {
        const links = (one) => readLinks(one, { ...state, threshold });
        return scores(add(sentences.map((one) => counts(links(one), one))));
      });
      curves.forEach((curve, k) => {
        chart.path(
          curve,
          steps.map((x, i) => [x, found[i][k]]),
        );
      });
      const errors = found.map(([, , error]) => error);
      const lowest = errors.indexOf(Math.min(...errors));
      best.textContent =
        lowest < 0
          ? ""
          : `Lowest AER, all sentences together: ${fixed(errors[lowest], 3)} at threshold ${fixed(steps[lowest])}.`;
    }
    drawn = signature;
    at.setAttribute("d", `M${chart.X(state.threshold)} ${chart.Y(0)}V${chart.Y(1)}`);
  }

  function draw() {
    const state = read();
    const { marking } = state;
    const now = sentences[state.sentence];
    const n = now.source.length;
    sync(state);
    threshold.el.hidden = state.rule === "argmax";
    toggle.textContent = marking ? "Reveal" : "Predict first: mark the links";
    allHead.textContent = `AER of ${sentences.length}`;
    drawCurves(state);
    results.hidden = marking;

    const predicted = readLinks(now, state);
    const mine = asSet(marksOf(state, state.sentence), n);
    // Whoever reveals has answered.
    toggle.disabled = marking && !mine.size;
    leave.hidden = !marking;
    const [sure, possible] = [new Set(now.sure), new Set(now.possible)];
    const both = (/** @type {Set<number>} */ gold) =>
      new Set([...predicted].filter((link) => gold.has(link)));
    const sets = [both(sure), both(possible), predicted, sure];
    matrix.set(now.weights, {
      rows: now.target,
      columns: now.source,
      say(t, i) {
        const link = t * n + i;
        const gold = sure.has(link) ? "sure" : possible.has(link) ? "possible" : "";
        const facts = [
          !marking && gold,
          !marking && predicted.has(link) && "model's link",
          mine.has(link) && "your link",
          !marking && sets[lit]?.has(link) && `in ${TERMS[lit]}`,
        ];
        return facts.filter(Boolean).join(", ");
      },
      over(layer, box) {
        const shapes = [];
        const at = (link) => box(Math.floor(link / n), link % n);
        const inner = (cell) => ({
          x: cell.x + 2,
          y: cell.y + 2,
          width: cell.width - 4,
          height: cell.height - 4,
        });
        if (!marking) {
          possible.forEach((link) =>
            shapes.push(...frame(inner(at(link)), sure.has(link) ? "sure" : "possible")),
          );
          predicted.forEach((link) => shapes.push(dot(at(link))));
        }
        mine.forEach((link) => shapes.push(diamond(at(link))));
        if (!marking && lit >= 0)
          for (let link = 0; link < n * now.target.length; link++)
            if (!sets[lit].has(link)) shapes.push(s("rect", { ...at(link), class: "d2lx-dim" }));
        layer.replaceChildren(...shapes);
      },
    });

    const own = (one) => asSet(marksOf(state, sentences.indexOf(one)), one.source.length);
    const every = [
      sentences.map((one) => counts(readLinks(one, state), one)),
      sentences.map((one) => counts(diagonal(one), one)),
      sentences.map(uniformCounts),
      sentences.map((one) => counts(own(one), one)),
    ];
    const place = state.sentence;
    const marked = every[3].filter(([, , size]) => size);
    every.forEach((list, row) => {
      const here = scores(list[place]);
      const all = scores(add(row === 3 ? marked : list))[2];
      const none = row === 3 && !mine.size;
      [...here, all].forEach((x, j) => show(cell[row][j], none && j < 3 ? NaN : x, 3));
    });
    const [inSure, inPossible, size, numSure] = every[0][place];
    const [precision, recall, error] = scores(every[0][place]);
    formula.textContent =
      `Model: precision |A ∩ P| / |A| = ${inPossible}/${size} = ${fixed(precision, 3)}; ` +
      `recall |A ∩ S| / |S| = ${inSure}/${numSure} = ${fixed(recall, 3)}`;
    [inSure, inPossible, size, numSure].forEach((number, k) => {
      terms[k].textContent = `${TERMS[k]} = ${number}`;
      attr(terms[k], { "aria-pressed": String(k === lit) });
    });
    result.textContent = ` = ${fixed(error, 3)}`;
    const [yourSure, yourPossible, yours] = every[3][place];
    verdict.textContent = marking
      ? "Gold and results are hidden. Click cells, or press Enter on them."
      : yours
        ? `You marked ${yours}: ${yourSure} of the ${numSure} sure links, and ${yours - yourPossible} that gold does not have.`
        : "";
    announce(
      el,
      marking
        ? `${mine.size} marked`
        : `${lit < 0 ? "" : `${terms[lit].textContent}. `}Model: precision ${fixed(precision)}, recall ${fixed(recall)}, error rate ${fixed(error)}`,
    );
  }
  const live = bind(model, moved, draw);
  return live.stop;
}

export default {
  render,
  rebuild: ["sentences"],
  share: {
    sentence: (x, get) => whole(0, get("sentences").length - 1)(x),
    rule: oneOf(RULES),
    threshold: within(0, 1),
    shift: whole(-1, 1),
  },
};
