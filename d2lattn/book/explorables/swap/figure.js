import {
  announce,
  attr,
  begin,
  bind,
  button,
  choice,
  clip,
  columns,
  h,
  headLine,
  heatmap,
  listed,
  more,
  pool,
  resetButton,
  s,
  show,
  toolRow,
  update,
  whole,
} from "../kit/index.js";
import { effects, turned } from "./effects.js";

const MOVED = ["case", "reader", "column"];
const quote = (word) => `“${clip(word, 24)}”`;

function render({ model, el }) {
  begin(el, "Replace a state of the encoder");
  /** @type {{ readers: string[], cases: import("./effects.js").Case[] }} */
  const { readers, cases } = model.get("data");
  const caseNow = () => cases[model.get("case")];
  // A link may bring a column that the sentence has not.
  const columnNow = () => Math.min(model.get("column"), caseNow().source.length - 1);
  const put = (/** @type {number} */ column) => update(model, { column });

  const sentence = choice({
    label: "Other sentence",
    options: cases.map((one) => `${clip(one.word)} for ${clip(one.source[one.place])}`),
    onchange: (i) => update(model, { case: i, column: -1 }),
  });
  const names = readers.map((name, i) =>
    button(clip(name, 24), () => update(model, { reader: i })),
  );
  const reads = h("div", { role: "group", "aria-label": "The encoder reads", class: "d2lx-reads" });
  reads.append(...names);

  const intro = h("p", {}, "Click a column: its state then comes from the other sentence.");
  const lines = ["Ours", "Other"].map((name) => {
    const words = h("span", { dir: "auto" });
    return { el: h("p", { class: "d2lx-line" }, h("span", {}, name), words), words };
  });
  const map = heatmap({
    label: "Attention weights of the unchanged sentence",
    rows: caseNow().target,
    columns: caseNow().source,
    rowTitle: "French",
    columnTitle: "state at",
    cellHeight: 30,
    onpick: (_, j) => put(j === columnNow() ? -1 : j),
  });
  // What each row writes, right of it; how likely that is stands under More.
  const head = h("div", { class: "d2lx-writes" }, "writes");
  const written = h("div", { class: "d2lx-written" });
  const scene = h("div", { class: "d2lx-scene" }, head, written, map.el);
  /** @type {(i: number, j: number) => import("../kit/heatmap.js").Box} */
  let box = () => ({ x: 0, y: 0, width: 0, height: 0 });
  map.stage.addEventListener("click", (event) => {
    // The word above a column does as well as the column.
    const area = map.stage.getBoundingClientRect();
    const { x, y, width } = box(0, 0);
    const j = Math.floor((event.clientX - area.left + map.stage.scrollLeft - x) / width);
    const above = event.clientY - area.top < y;
    if (above && j >= 0 && j < caseNow().source.length) put(j === columnNow() ? -1 : j);
  });

  const said = h("p", { class: "d2lx-said" });
  const flips = h("div", { class: "d2lx-flips" });
  const next = button("Next column", () => {
    const count = caseNow().source.length;
    put(((columnNow() + 2) % (count + 1)) - 1);
  });
  const tools = toolRow(next, resetButton(model, MOVED));
  el.append(
    columns({
      result: [intro, lines[0].el, lines[1].el, scene, said],
      controls: [
        ...(cases.length > 1 ? [sentence.el] : []),
        headLine("The encoder reads"),
        reads,
        more(model, [], [tools, flips]),
      ],
    }),
  );

  function draw() {
    const [one, reader, column] = [caseNow(), model.get("reader"), columnNow()];
    const rows = effects(one, reader, column);
    sentence.set(model.get("case"));
    names.forEach((name, i) => {
      attr(name, { "aria-pressed": String(i === reader) });
    });
    const cut = (/** @type {(Node | string)[]} */ words) => [
      one.cut[0] ? "… " : "",
      ...words,
      one.cut[1] ? "…" : "",
    ];
    const other = one.source.map((word, j) => (j === one.place ? one.word : word));
    [one.source, other].forEach((words, k) => {
      const parts = words.flatMap((word, j) => [
        h(j === one.place ? "b" : "span", { "data-lent": k === 1 && j === column }, clip(word)),
        " ",
      ]);
      lines[k].words.replaceChildren(...cut(parts));
    });
    map.set(one.readers[reader].weights, {
      rows: one.target,
      columns: one.source,
      say: (_, j) => (j === column ? "replaced" : ""),
      over(layer, where) {
        box = where;
        const [first, last] = [where(0, Math.max(0, column)), where(one.target.length - 1, 0)];
        const height = last.y + last.height - first.y;
        const frame = { ...first, x: first.x + 1, width: first.width - 2, y: 1 };
        attr(lent(Number(column >= 0))[0] ?? layer, {
          ...(column >= 0 ? { ...frame, height: first.y + height - 2 } : {}),
        });
        layer.append(group);
        const right = where(0, one.source.length - 1);
        const left = Math.min(right.x + right.width + 8, scene.clientWidth - written.clientWidth);
        for (const part of [head, written]) part.style.left = `${left}px`;
        head.style.top = `${Math.max(0, where(0, 0).y - 19)}px`;
        place();
      },
    });
    tell(one, rows, column);
  }
  const group = s("g", { class: "d2lx-lent" });
  const lent = pool(group, "rect", { class: "d2lx-lent" });

  function tell(one, rows, column) {
    const changed = turned(rows);
    written.replaceChildren(
      ...rows.map((row) => {
        const turns = row.word !== row.now;
        const word = h("span", { dir: "auto" }, `${turns ? "→ " : ""}${clip(row.now, 12)}`);
        return h("div", turns ? { "data-turned": "" } : {}, word);
      }),
    );
    place();
    const state = `The state at ${quote(one.source[Math.max(0, column)])}`;
    const result = changed.length
      ? `${listed(changed.map(({ word, now }) => `${quote(word)} becomes ${quote(now)}`))}.`
      : "no word changes.";
    const text =
      column < 0 ? "No state is replaced." : `${state} comes from the other sentence: ${result}`;
    said.textContent = text;
    flips.replaceChildren(
      ...rows.map((row, i) => {
        const part = (/** @type {string} */ word, /** @type {number[]} */ chances, name) => {
          const [was, is] = ["was", "is"].map((when, k) => {
            const data = h("data", { "data-name": `${name}-${when}-${i}` });
            show(data, chances[k]);
            return data;
          });
          return h("span", {}, h("b", { dir: "auto" }, clip(word, 16)), " ", was, " → ", is);
        };
        const own = part(row.word, row.own, "own");
        if (row.word === row.now) return h("p", {}, own);
        return h("p", {}, own, part(row.now, row.other, "other"));
      }),
    );
    announce(el, text);
  }
  function place() {
    [...written.children].forEach((row, i) => {
      const { y, height } = box(i, 0);
      attr(row, { style: `top:${y}px;height:${height}px` });
    });
  }
  const live = bind(model, MOVED, draw);
  return live.stop;
}

export default {
  render,
  rebuild: ["data"],
  share: {
    case: (x, get) => whole(0, get("data").cases.length - 1)(x),
    reader: (x, get) => whole(0, get("data").readers.length - 1)(x),
    column: (x, get) =>
      whole(-1, Math.max(...get("data").cases.map((c) => c.source.length)) - 1)(x),
  },
};
