import {
  announce,
  attr,
  begin,
  bind,
  button,
  clip,
  fixed,
  h,
  onKeys,
  resetButton,
  show,
  toolRow,
  update,
  whole,
} from "../kit/index.js";

/**
 * moved: with the letter at the first position replaced by the second, the largest change of any
 * score at the third.
 * @typedef {{
 *   reads: string[], signs: string[], programs: { name: string, moved: number[][][] }[],
 * }} Given
 */

// A screen reader would not read these.
const SPOKEN = { ".": "full stop", ">": "greater than" };
const spoken = (/** @type {string} */ sign) => SPOKEN[sign] ?? clip(sign, 24);
const NAMES = ["place", "sign"];

/** The arrow keys go along a row of buttons. @param {HTMLElement} row @param {HTMLElement[]} all */
function alongByKeys(row, all) {
  onKeys(row, (key, event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    const from = all.indexOf(/** @type {HTMLElement} */ (event.target));
    if (!by || from < 0) return;
    all[(from + by + all.length) % all.length].focus();
    return true;
  });
}

function render({ model, el }) {
  begin(el, "Change a letter that the decoder reads");
  /** @type {Given} */
  const { reads, signs, programs } = model.get("data");
  const own = reads.map((letter) => signs.indexOf(letter));
  const most = Math.max(...programs.map((one) => Math.max(...one.moved.flat(2)))) || 1;

  const letters = reads.map((_, place) => {
    const now = h("b", { dir: "auto" });
    const was = h("span", { class: "d2lx-once", dir: "auto" });
    const hand = button("", () => update(model, { place, sign: own[place] }));
    hand.append(now);
    return { now, was, hand, el: h("td", {}, hand, was) };
  });
  const read = h(
    "tr",
    {},
    h("th", { scope: "row" }, "The decoder reads"),
    ...letters.map((one) => one.el),
  );
  alongByKeys(
    read,
    letters.map((one) => one.hand),
  );

  const becomes = h("th", { scope: "row" });
  const options = signs.map((text, sign) =>
    attr(
      button(clip(text, 4), () => update(model, { sign })),
      { "aria-label": spoken(text) },
    ),
  );
  const choose = h("div", { class: "d2lx-signs", role: "group" }, ...options);
  alongByKeys(choose, options);
  const given = h("tr", {}, becomes, h("td", { colspan: reads.length }, choose));

  const head = h(
    "th",
    { colspan: reads.length + 1 },
    "Largest change in any logit, at each position",
  );
  const rows = programs.map(({ name }, k) => {
    const cells = reads.map((_, place) => {
      const bar = h("i");
      const data = h("data", { "data-name": `moved-${k}-${place}` });
      return { bar, data, el: h("td", {}, h("div", { class: "d2lx-rise" }, bar), data) };
    });
    const label = h("th", { scope: "row", dir: "auto" }, clip(name, 24));
    return { cells, el: h("tr", {}, label, ...cells.map((cell) => cell.el)) };
  });
  const table = h("table", { class: "d2lx-ahead" });
  table.append(h("tbody", {}, read, given, h("tr", {}, head), ...rows.map((row) => row.el)));
  const said = h("p", { class: "d2lx-told" });
  el.append(table, said, toolRow(resetButton(model, NAMES)));

  function draw() {
    const [place, sign] = NAMES.map((name) => model.get(name));
    const changed = sign !== own[place];
    const row = reads.map((letter, i) => (i === place ? signs[sign] : letter));
    letters.forEach(({ now, was, hand }, i) => {
      const once = i === place && changed;
      now.textContent = clip(row[i], 4);
      was.textContent = once ? `was ${clip(reads[i], 4)}` : "";
      const name = `Position ${i + 1}: ${spoken(row[i])}`;
      attr(hand, {
        "aria-label": once ? `${name}, was ${spoken(reads[i])}` : name,
        "aria-pressed": String(i === place),
      });
    });
    becomes.textContent = `${clip(reads[place], 4)} becomes`;
    attr(choose, { "aria-label": `${spoken(reads[place])} becomes` });
    options.forEach((option, i) => {
      attr(option, { "aria-pressed": String(i === sign) });
    });
    programs.forEach(({ moved }, k) => {
      moved[place][sign].forEach((x, i) => {
        const { bar, data, el: cell } = rows[k].cells[i];
        show(data, x);
        // A small change must be visible, too.
        bar.style.height = x ? `max(3px, ${(100 * x) / most}%)` : "0";
        attr(cell, { "data-moved": x > 0, "data-here": i === place });
      });
    });
    const counts = programs.map(({ name, moved }) => {
      const count = moved[place][sign].filter((x) => x > 0).length;
      return `${clip(name, 24)} ${count} of ${reads.length}`;
    });
    said.textContent = changed
      ? `${clip(reads[place], 4)} becomes ${clip(signs[sign], 4)}. Number of positions whose logits change: ${counts.join(", ")}.`
      : "No letter has been replaced, so no logit changes.";
    const told = programs.map(
      ({ name, moved }) =>
        `${clip(name, 24)}: ${moved[place][sign].map((x, i) => `${spoken(row[i])} ${fixed(x)}`).join(", ")}`,
    );
    announce(
      el,
      changed
        ? `${spoken(reads[place])}, position ${place + 1}, becomes ${spoken(signs[sign])}. ${told.join(". ")}.`
        : `${said.textContent} ${spoken(reads[place])}, position ${place + 1}, is chosen.`,
    );
  }
  return bind(model, NAMES, draw).stop;
}

export default {
  render,
  rebuild: ["data"],
  share: {
    place: (x, get) => whole(0, get("data").reads.length - 1)(x),
    sign: (x, get) => whole(0, get("data").signs.length - 1)(x),
  },
};
