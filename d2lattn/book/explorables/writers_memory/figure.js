import {
  announce,
  atEnd,
  attr,
  begin,
  bind,
  button,
  clamp,
  clip,
  columns,
  formulaLine,
  h,
  headLine,
  knobs,
  more,
  noteLine,
  predictFirst,
  presets,
  reader,
  resetButton,
  slider,
  toolRow,
  update,
  whole,
} from "../kit/index.js";
import {
  answer,
  divisors,
  fitting,
  fullAt,
  grouped,
  kept,
  many,
  rumour,
  tokenBytes,
} from "./arithmetic.js";
import { sharing } from "./heads.js";
import { textLine } from "./line.js";

const [MOST_HEADS, MOST_NUMBERS, MOST_LAYERS, MOST_FIRST] = [128, 256, 128, 4];
const [ROOM, WIDTHS] = [16e9, [4, 2, 1]];
const MOVED = [
  ...["query_heads", "kv_heads", "head_dim", "layers", "number_bytes"],
  ...["window", "num_first", "written", "asked"],
];

/** A number that tests find by its name: { el, set }. @param {string} name */
function number(name) {
  const el = h("data", { "data-name": name });
  const set = (/** @type {number} */ x) => attr(el, { value: x }).replaceChildren(grouped(x));
  return { el, set };
}

function render({ model, el }) {
  begin(el, "What the cache keeps");
  const moved = reader(model, MOVED);
  /** @type {string[]} */
  const tokens = model.get("tokens");
  const last = tokens.length;
  const read = () => {
    const state = /** @type {import("./arithmetic.js").State} */ (moved());
    const kv_heads = fitting(state.query_heads, state.kv_heads);
    return { ...state, kv_heads, asked: Math.min(state.asked, state.written - 1) };
  };
  const start = read();
  const pick = (/** @type {number} */ place) =>
    update(model, { asked: clamp(place, 0, model.get("written") - 1) });

  const total = number("kept");
  const each = number("token");
  const product = h("p");
  const formula = formulaLine();
  const line = textLine(tokens, () => read().asked, pick);
  const heads = sharing();
  const said = h("p", { class: "d2lx-said" });
  const news = h("p", { class: "d2lx-news" });

  const { count: counted, pick: choose, sync } = knobs(model);
  const next = button("Write the next token", () =>
    update(model, { written: Math.min(last, model.get("written") + 1) }),
  );
  let shares = divisors(start.query_heads);
  const share = slider({
    ...{ label: "Heads that share a key", min: 0, max: 1, step: 1, value: 0 },
    text: (i) => `${shares[i]}, so ${many(shares[shares.length - 1 - i], "key")}`,
    oninput: (i) => update(model, { kv_heads: shares[shares.length - 1 - i] }),
  });
  const wide = slider({
    ...{ label: "Window", min: 1, max: last + 1, step: 1, value: 1 },
    text: (x) => (x > last ? "all tokens" : `the last ${x}`),
    oninput: (x) => update(model, { window: x > last ? 0 : Math.round(x) }),
  });
  const stays = counted("num_first", "First tokens that are kept", 0, MOST_FIRST);
  const further = [
    counted("written", "Tokens written", 1, last),
    stays,
    counted("layers", "Layers", 1, MOST_LAYERS),
    counted("head_dim", "Width of a head", 16, MOST_NUMBERS, { step: 16 }),
    choose("number_bytes", "Bytes per number", WIDTHS.map(String), WIDTHS),
  ];
  const named = presets(model, Object.entries(model.get("models")));

  const full = h("p");
  const most = number("full");
  const predict = predictFirst({
    question: "16 GB of memory are free for the cache of one text. How many tokens fit?",
    label: "Your guess, in thousands of tokens",
    ...{ min: 0.1, max: 100_000, step: 0.05, log: true, digits: 1 },
    answer: () => fullAt(read(), ROOM) / 1000,
    covered: [full],
    onchange: () => live?.redraw(),
  });
  el.append(
    columns({
      result: [h("p", { class: "d2lx-total" }, total.el, " bytes kept"), product, line.el, said],
      controls: [share.el, wide.el, toolRow(resetButton(model, MOVED, predict.stop))],
    }),
    more(
      model,
      ["query_heads", "head_dim", "layers", "number_bytes", "num_first", "written"],
      [
        columns({
          result: [formula, h("div", { class: "d2lx-answer" }, heads.el, news)],
          controls: [
            toolRow(next),
            ...further.map((one) => one.el),
            ...(named.length ? [headLine("Sizes of"), toolRow(...named)] : []),
            ...[predict.el, full],
          ],
          more: [
            noteLine(
              "The query is that of the last token. Tap a token to see whether the query can attend to it. A mark above a token is one key and one value in the cache of each layer. Dotted tokens have been deleted, but information from them may have been passed on.",
            ),
          ],
        }),
      ],
    ),
  );

  function draw() {
    const state = read();
    const { query_heads, kv_heads, head_dim, layers, number_bytes, written, asked } = state;
    const here = kept(state);
    const count = here.filter(Boolean).length;
    const bytes = tokenBytes(state);
    sync(state);
    stays.el.hidden = !state.window;
    shares = divisors(query_heads);
    share.range(0, shares.length - 1);
    share.set(shares.indexOf(query_heads / kv_heads));
    wide.set(state.window || last + 1);
    atEnd(next, written === last);

    total.set(count * bytes);
    product.textContent = `${many(count, "token")} · ${many(bytes, "byte")}`;
    each.set(bytes);
    formula.replaceChildren(
      `2 · ${many(layers, "layer")} · ${many(kv_heads, "head")} · ${many(head_dim, "number")} · ${many(number_bytes, "byte")} = `,
      ...[each.el, ` bytes per token; ${count} of ${many(written, "token")} are kept`],
    );
    line.set(state);
    const token = clip(tokens[asked], 12);
    heads.set(query_heads, kv_heads, here[asked]);
    said.textContent = answer(state, token);
    news.textContent = rumour(state, token);
    const limit = fullAt(state, ROOM);
    most.set(limit);
    full.replaceChildren(
      ...(limit === Infinity
        ? [
            `16 GB are never full: at most ${many(state.window + state.num_first, "token")} are kept.`,
          ]
        : ["16 GB can hold ", most.el, " tokens of one text."]),
    );
    announce(el, `${grouped(count * bytes)} bytes kept. ${said.textContent}`);
  }
  const live = bind(model, MOVED, draw);
  for (const name of MOVED) if (name !== "asked") model.on(`change:${name}`, predict.refresh);
  return live.stop;
}

const inText =
  (/** @type {number} */ low, more = 0) =>
  (x, get) =>
    whole(low, get("tokens").length + more)(x);

export default {
  render,
  rebuild: ["tokens", "models"],
  share: {
    query_heads: whole(1, MOST_HEADS),
    kv_heads: (x, get) => divisors(get("query_heads")).includes(x),
    head_dim: whole(1, MOST_NUMBERS),
    layers: whole(1, MOST_LAYERS),
    number_bytes: (x) => WIDTHS.includes(x),
    window: inText(0),
    num_first: whole(0, MOST_FIRST),
    written: inText(1),
    asked: inText(0, -1),
  },
};
