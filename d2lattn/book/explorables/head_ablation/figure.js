import {
  announce,
  attr,
  begin,
  bind,
  check,
  clamp,
  clip,
  columns,
  fixed,
  formulaLine,
  h,
  headLine,
  heatmap,
  inkRgb,
  knobs,
  listed,
  more,
  noteLine,
  oneOf,
  predictOne,
  reader,
  readout,
  readoutRow,
  resetButton,
  short,
  show,
  sum,
  toolRow,
  update,
  weightsOf,
  whole,
} from "../kit/index.js";
import { contributions, digitsFor, lost, place, worth } from "./subsets.js";

const MOVED = ["on", "head", "view", "example", "instead"];
const VIEWS = ["weights", "contributions"];
const WORTH = ["last", "first", "mean"];
const INSTEAD = { zero: "zeros", mean: "its mean" };

// Weights come in ten-thousandths, where most are 0 as { place: weight }.
function unpack(one) {
  const weights = one.weights.map((rows) => rows.map((row) => weightsOf(row, one.keys.length)));
  const parts = weights.map((rows, i) => contributions(rows, one.lengths[i]));
  const largest = Math.max(...parts.flat(2));
  // One scale for all heads, so that a head that adds little is pale.
  const shares = parts.map((rows) => rows.map((row) => row.map((x) => x / (largest || 1))));
  return { ...one, weights, parts, shares, largest };
}

const named = (heads) => `head${heads.length > 1 ? "s" : ""} ${listed(heads.map((i) => i + 1))}`;

// A number with a bar under it or beside it.
function gauge(name) {
  const fill = h("span");
  const data = h("data", { "data-name": name });
  const track = h("span", { class: "d2lx-gauge" }, fill);
  const set = (x, share, digits) => {
    show(data, x, digits);
    fill.style.width = `${100 * clamp(share, 0, 1)}%`;
  };
  return { data, track, set };
}

// A map so small that only its pattern is seen; the large one says its cells.
function thumb(onclick) {
  const el = h("canvas", { class: "d2lx-thumb", role: "img", onclick });
  const set = (matrix, label) => {
    attr(el, { width: matrix[0].length, height: matrix.length, "aria-label": label });
    const context = el.getContext("2d");
    if (!context) return;
    const image = context.createImageData(el.width, el.height);
    matrix.flat().forEach((x, i) => {
      image.data.set([...inkRgb(x), 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
  };
  return { el, set };
}

function render({ model, el }) {
  begin(el, "Head ablation bench");
  const examples = model.get("examples").map(unpack);
  const measure = model.get("measure");
  const kinds = Object.keys(model.get("losses"));
  const read = reader(model, MOVED);
  const heads = model.get("on").map((_, i) => i);
  const losses = () => model.get("losses")[model.get("instead")];
  const digits = () => digitsFor(Math.max(...losses()));
  const signed = (x) => `${x > 0 ? "+" : ""}${fixed(x, digits())}`;

  // Two lengths: heads that stand in for each other are missed together, and not one at a time.
  const [together, apart] = ["together", "apart"].map(gauge);
  const bars = [together, apart].map((one, i) => {
    const label = h("span", {}, ["off together", "one at a time, added up"][i]);
    return h("div", { role: "listitem" }, label, one.track, one.data);
  });
  const levels = [readout("now", "now"), readout("all on", "all"), readout("all off", "none")];
  const told = formulaLine();
  const rows = heads.map((i) => {
    const box = check({
      label: `Head ${i + 1}`,
      onchange: (on) => update(model, { on: model.get("on").map((x, j) => (j === i ? on : x)) }),
    });
    // A tap on a small map asks for the large one.
    const maps = VIEWS.map((view) => thumb(() => update(model, { head: i, view })));
    const worths = WORTH.map((name) => gauge(`${name}-${i}`));
    const cells = worths.map((one) => h("td", {}, one.data, one.track));
    const row = h(
      "tr",
      {},
      h("th", { scope: "row" }, `Head ${i + 1}`),
      h("td", {}, maps[1].el),
      ...cells,
    );
    // Which way a tick is meant is said beside it; a checkbox tells it by itself.
    const state = h("span", { "aria-hidden": "true" });
    const card = h("div", {}, box.el, state);
    return { box, state, maps, worths, cells, card, el: row };
  });
  const top = (text, values = {}) => h("th", { scope: "col", ...values }, text);
  const group = h("th", { colspan: 3, scope: "colgroup" }, "what it saves");
  const tops = ["with all others on", "alone", "on average"].map((text) => top(text));
  const table = h(
    "table",
    { class: "d2lx-heads" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...["head", "contri\u00adbutions"].map((text) => top(text, { rowspan: 2 })),
        group,
      ),
      h("tr", {}, ...tops),
    ),
    h("tbody", {}, ...rows.map((row) => row.el)),
  );
  const [note, orders] = [noteLine(), noteLine()];
  const { count, pick } = knobs(model);
  const gives = kinds.map((kind) => INSTEAD[kind]);
  const instead = pick("instead", "Output of a head that is off", gives, kinds);
  instead.el.hidden = kinds.length < 2;
  const predict = predictOne({
    question: "Which single head can be switched off at the least cost, while all others are on?",
    options: heads.map((i) => `Head ${i + 1}`),
    opening: "The losses are hidden; the maps are not. Choose a head, then reveal.",
    covered: [...bars, levels[0].el, told, ...rows.flatMap((row) => row.cells)],
    judge(guess) {
      const costs = worth(losses()).map((one) => one.last);
      const best = costs.indexOf(Math.min(...costs));
      const [mine, least] = [costs[guess], costs[best]].map(signed);
      return mine === least
        ? `You chose head ${guess + 1}, and no head costs less: ${mine}.`
        : `You chose head ${guess + 1}: without it ${mine}. Without head ${best + 1} only ${least}.`;
    },
  });

  const view = pick("view", "View", VIEWS, VIEWS);
  const head = count("head", "Head shown", 1, heads.length, {
    text: (x) => `${Math.round(x)} of ${heads.length}`,
    oninput: (x) => update(model, { head: Math.round(x) - 1 }),
  });
  const names = examples.map((one) => one.name);
  const example = pick("example", "Input", names);
  example.el.hidden = examples.length < 2;
  const title = headLine();
  const scale = noteLine();
  const map = heatmap({
    label: "Map of the head shown, queries in rows and keys in columns",
    rows: examples[0].queries,
    columns: examples[0].keys,
    rowTitle: "query",
    columnTitle: "key",
  });
  const part = (name, ...children) => h("div", { class: name }, ...children);
  const fold = more(
    model,
    ["head", "view", "example", "instead"],
    [
      columns({
        result: [],
        controls: [
          example.el,
          instead.el,
          toolRow(predict.toggle, predict.leave),
          predict.form,
          predict.verdict,
          readoutRow(...levels.map((level) => level.el)),
        ],
        more: [table, note, orders],
      }),
      columns({
        result: [title, map.el],
        controls: [
          headLine("Where each head attends"),
          part("d2lx-looks", ...rows.map((row) => row.maps[0].el)),
          noteLine("Rows are queries, columns are keys; darker means more weight."),
          ...[head.el, view.el, scale],
        ],
      }),
    ],
  );
  el.append(
    columns({
      result: [
        headLine(clip(`more ${measure}`, 80)),
        h("div", { class: "d2lx-losses", role: "list" }, ...bars),
        told,
      ],
      controls: [
        part("d2lx-cards", ...rows.map((row) => row.card)),
        toolRow(resetButton(model, MOVED, predict.stop)),
      ],
    }),
    fold,
  );

  // What has not changed is not written again: even the same text would be laid out once more.
  const once = (part) => {
    let last = "";
    return (values) => {
      const now = JSON.stringify(values);
      if (now !== last) part(...values);
      last = now;
    };
  };
  const drawWorth = once((kind) => {
    predict.forget();
    instead.set(kinds.indexOf(kind));
    const found = losses();
    const worths = worth(found);
    const widest = Math.max(0, ...worths.flatMap((one) => WORTH.map((name) => one[name]))) || 1;
    levels[1].set(found.at(-1), digits());
    levels[2].set(found[0], digits());
    rows.forEach((row, i) => {
      row.worths.forEach((cell, k) => {
        const x = worths[i][WORTH[k]];
        cell.set(x, x / widest, digits());
      });
    });
    note.textContent =
      "With all others on: what is lost when only this head is off." +
      (kind === "mean" ? " Its mean: the average output of the head over the data." : "");
    orders.textContent =
      "Alone: what it saves when no other is on. On average: over all orders in which the heads can " +
      `be switched on, its Shapley value; these add up to what all heads save together, ${fixed(found[0] - found.at(-1), digits())}.`;
  });
  const drawLoss = once((on) => {
    const found = losses();
    const current = found[place(on)];
    levels[0].set(current, digits());
    const { off, together: all, each } = lost(found, on);
    // The longer of the two is full, so that the other is seen as a share of it.
    const added = sum(each);
    const most = Math.max(all, added) || 1;
    together.set(all, all / most, digits());
    apart.set(added, added / most, digits());
    // What a head is worth alone and on average differs from the rest only where heads go together.
    group.colSpan = off.length > 1 ? 3 : 1;
    for (const cells of [tops, ...rows.map((row) => row.cells)])
      for (const cell of cells.slice(1)) cell.hidden = off.length < 2;
    orders.hidden = off.length < 2;
    const times = added > 0 && all > 0 ? ` Together ${fixed(all / added, 1)} times as much.` : "";
    const alone = ` One at a time: ${listed(each.map(signed))}, added up ${signed(added)}.${times}`;
    told.textContent = off.length
      ? `Without ${named(off)}: ${signed(all)}.${off.length > 1 ? alone : ""}`
      : "All heads are on. Switch some off.";
    rows.forEach((row, i) => {
      row.box.set(on[i]);
      row.state.textContent = on[i] ? "on" : "off";
      for (const one of [row.el, row.card]) attr(one, { class: on[i] ? null : "d2lx-off" });
    });
  });
  const drawThumbs = once((k) => {
    const one = examples[k];
    example.set(k);
    rows.forEach(({ maps }, i) => {
      const mean = (matrix, of) => fixed(sum(matrix.map(of)) / matrix.length);
      const sharp = mean(one.weights[i], (row) => Math.max(...row));
      const adds = mean(one.parts[i], sum);
      const [head, a, b] = [`head ${i + 1}`, `the largest is ${sharp}`, `${adds} a query`];
      maps[0].set(one.weights[i], `weights of ${head}: ${a} on average`);
      maps[1].set(one.shares[i], `contributions of ${head}: ${b} on average`);
    });
  });
  const drawMap = once((i, shown, k, off) => {
    const one = examples[k];
    head.set(i + 1);
    view.set(VIEWS.indexOf(shown));
    rows.forEach(({ maps }, j) => {
      maps.forEach((small, n) => {
        attr(small.el, { "data-shown": i === j && VIEWS[n] === shown });
      });
    });
    title.textContent = `Head ${i + 1}${off ? " (off)" : ""}: ${shown}`;
    const byWeight = shown === "weights";
    scale.textContent = byWeight
      ? "Each query's weights sum to 1. They show how much of a value a head takes, not how much that changes the output."
      : `Weight × length of the vector that arrives, as a share of the largest of all heads here, ${short(one.largest)}.`;
    map.set((byWeight ? one.weights : one.shares)[i], {
      rows: one.queries,
      columns: one.keys,
      say(q, n) {
        const by = `length ${short(one.lengths[i][n])} = ${short(one.parts[i][q][n])}`;
        return byWeight ? `times ${by}` : `from weight ${fixed(one.weights[i][q][n], 3)} × ${by}`;
      },
    });
  });

  function draw() {
    const { on, head, view, example, instead } = read();
    drawWorth([instead]);
    drawLoss([on, instead]);
    drawThumbs([example]);
    drawMap([head, view, example, !on[head]]);
    const loss = fixed(losses()[place(on)], digits());
    announce(el, `${told.textContent} Now ${loss}. ${title.textContent}`);
  }
  return bind(model, MOVED, draw).stop;
}

export default {
  render,
  rebuild: ["examples", "losses", "measure"],
  share: {
    on: oneOf([true, false]),
    head: (x, get) => whole(0, get("on").length - 1)(x),
    view: oneOf(VIEWS),
    example: (x, get) => whole(0, get("examples").length - 1)(x),
    instead: (x, get) => Object.hasOwn(get("losses"), x),
  },
};
