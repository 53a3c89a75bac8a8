import {
  announce,
  atEnd,
  begin,
  bind,
  button,
  clamp,
  fixed,
  formulaLine,
  h,
  headLine,
  knobs,
  onKeys,
  resetButton,
  s,
  toolRow,
  update,
} from "../kit/index.js";

/**
 * @typedef {{
 *   name: string, text: string, formula?: string, gets?: string, gives?: string, count?: number, weights?: string,
 * }} Stop
 * @typedef {{
 *   size: number[], boxes: [number, number, number, string][], wires: [number, string, string][],
 *   frames: string, texts: [number, number, string][],
 * }} Drawing
 */

/** @param {Drawing} drawing @param {(stop: number) => void} onchoose */
function map({ size, boxes, wires, frames, texts }, onchoose) {
  const [width, height, wide, high] = size;
  const svg = s("svg", {
    ...{ class: "d2lx-tour-map", viewBox: `0 0 ${width} ${height}`, role: "img" },
    "aria-label": "The whole Transformer: encoder on the left, decoder on the right, read upwards",
  });
  svg.append(s("path", { d: frames, class: "d2lx-tour-frame" }));
  const lit = wires.map(([stop, line, tip]) => {
    const wire = s("g", {}, s("path", { d: line }), s("path", { d: tip, class: "d2lx-tip" }));
    svg.append(wire);
    return { stop, el: wire };
  });
  for (const [x, y, text] of texts) svg.append(s("text", { x, y }, text));
  for (const [stop, x, y, label] of boxes) {
    const words = s("text", { x: x + wide / 2, y: y + 17 }, label);
    const box = s("rect", { x, y, width: wide, height: high, rx: 4 });
    const el = s("g", { class: "d2lx-box", onclick: () => onchoose(stop) }, box, words);
    svg.append(el);
    lit.push({ stop, el });
  }
  // What is lit lies above the wires that cross it.
  const set = (/** @type {number} */ now) => {
    for (const { stop, el } of lit) el.classList.toggle("d2lx-lit", stop === now);
  };
  return { el: svg, set };
}

function render({ model, el }) {
  begin(el, "The whole Transformer, block by block");
  /** @type {Stop[]} */
  const stops = model.get("stops");
  const choose = (/** @type {number} */ block) => update(model, { block });
  const go = (/** @type {number} */ by) => choose(clamp(model.get("block") + by, 1, stops.length));

  const drawing = map(model.get("drawing"), choose);
  const stage = h(
    "div",
    {
      class: "d2lx-result",
      tabindex: 0,
      role: "group",
      "aria-label": "Drawing. Up and down arrow keys: the blocks, in the order of the flow.",
    },
    drawing.el,
  );
  const [back, next] = [button("Back", () => go(-1)), button("Next", () => go(1))];
  const block = knobs(model).count("block", "Stop", 1, stops.length, {
    text: (x) => `${Math.round(x)} of ${stops.length}: ${stops[Math.round(x) - 1].name}`,
  });
  const words = h("p", { class: "d2lx-tour-said" });
  const facts = h("div");
  // A walk of a few stops has Back and Next alone, and the stop's name above its sentence.
  const few = stops.every(({ formula }) => !formula);
  const where = headLine();
  el.append(
    h(
      "div",
      { class: "d2lx-tour" },
      h(
        "div",
        { class: "d2lx-tour-top" },
        toolRow(back, next, ...(few ? [] : [resetButton(model, ["block"])])),
        ...(few ? [where, words] : [words, block.el]),
      ),
      h("div", { class: "d2lx-tour-drawn" }, stage),
      h("div", { class: "d2lx-tour-facts" }, facts),
    ),
  );
  onKeys(el, (key, { target }) => {
    if (/** @type {Element} */ (target).matches("input, a")) return;
    const by = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ...(target === stage && { ArrowDown: -1, ArrowUp: 1 }),
    };
    if (by[key]) go(by[key]);
    return key in by;
  });

  // A shape stays on one line.
  const tight = (/** @type {string} */ shape) => shape.replace(/(?<=[,=]) | (?==)/g, "\u00a0");
  const fact = (/** @type {string} */ name, /** @type {(Node | string)[]} */ ...rest) =>
    h("p", {}, h("span", { class: "d2lx-tour-name" }, name), " ", ...rest);

  function draw() {
    const now = model.get("block");
    const { name, text, formula, gets, gives, count, weights } = stops[now - 1];
    block.set(now);
    drawing.set(now);
    words.textContent = text;
    where.textContent = `${now} of ${stops.length}: ${name}`;
    atEnd(back, now === 1);
    atEnd(next, now === stops.length);
    /** @type {Node[]} */
    const shown = formula ? [formulaLine(formula)] : [];
    if (gets) shown.push(fact("In", tight(gets)));
    if (weights) shown.push(fact("Weights", tight(weights)));
    if (gives && count) {
      const number = h("data", { "data-name": "count", value: count }, fixed(count, 0));
      shown.push(fact("Out", tight(gives), ", ", number, count > 1 ? " numbers" : " number"));
    }
    facts.replaceChildren(...shown);
    announce(el, `${now} of ${stops.length}, ${name}. ${text}`);
  }
  return bind(model, ["block"], draw).stop;
}

export default { render, rebuild: ["drawing", "stops"] };
