import {
  announce,
  attr,
  begin,
  bind,
  button,
  clip,
  fixed,
  h,
  keeping,
  oneOf,
  reader,
  s,
  tableOf,
  toolRow,
  update,
  whole,
} from "../kit/index.js";
import { judged, pointed, reasons } from "./verdicts.js";

const STATE = ["case", "swaps", "answers"];
const VERDICTS = ["plausible", "used", "needed"];
const WIDEST = 15;
const MOST = 12;
const WORD = 11;

/** Yes and no, by shape and in words. */
const mark = (/** @type {boolean} */ yes) =>
  h(
    "b",
    { class: "d2lx-mark" },
    h("span", { "aria-hidden": "true" }, yes ? "✓ " : "✗ "),
    yes ? "yes" : "no",
  );
const em = (/** @type {string} */ text) => h("em", { lang: "fr" }, text);

function render({ model, el }) {
  begin(el, "Five pictures");
  const pictures = model.get("pictures");
  const state = reader(model, STATE);
  const put = (list, k, value) => list.map((one, i) => (i === k ? value : one));
  const go = (/** @type {number} */ k) => update(model, { case: k });
  /** The element that has the focus once what had it is gone. @type {HTMLElement | null} */
  let next = null;

  const steps = pictures.map((_, k) => button(`${k + 1}`, () => go(k)));
  const progress = h(
    "ol",
    { class: "d2lx-steps", "aria-label": "Pictures" },
    ...steps.map((one) => h("li", {}, one)),
  );

  // The picture: English on the left, French on the right, and ink between them.
  const left = h("ol", { class: "d2lx-states", "aria-label": "English words: replace a state" });
  const right = h("ol", { class: "d2lx-french", "aria-label": "French words" });
  const ink = s("svg", { preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
  const drawing = h("div", { class: "d2lx-pair" }, left, ink, right);
  const tried = h("p", { class: "d2lx-tried", "data-name": "tried" });

  const claim = h("p", { class: "d2lx-claim", tabindex: -1 });
  const answer = (/** @type {string} */ given) => () => {
    const now = state();
    if (now.answers[now.case]) return;
    next = told;
    // What was signed is tested at once, where the reader has not done so.
    const swap = now.swaps[now.case] < 0 ? pointed(pictures[now.case]) : now.swaps[now.case];
    update(model, {
      answers: put(now.answers, now.case, given),
      swaps: put(now.swaps, now.case, swap),
    });
  };
  const choose = toolRow(button("I sign", answer("yes")), button("I don’t", answer("no")));
  choose.classList.add("d2lx-choose");
  const told = h("p", { class: "d2lx-claim", tabindex: -1, "data-name": "told" });
  const rows = VERDICTS.map((name) => {
    const [says, why] = [h("span", { "data-name": name }), h("span", {})];
    const title = h("dt", {}, name[0].toUpperCase() + name.slice(1), " ", says);
    return { name, says, why, el: h("div", {}, title, h("dd", {}, why)) };
  });
  const made = h("p", { class: "d2lx-note" });
  const onward = button("", () => {
    const now = state();
    const open = now.answers.findIndex((given, k) => !given && k !== now.case);
    const after = now.answers.findIndex((given, k) => !given && k > now.case);
    next = open < 0 ? score : claim;
    if (open >= 0) return go(after < 0 ? open : after);
    score.focus({ preventScroll: true });
    end.scrollIntoView({ block: "nearest" });
  });
  onward.className = "d2lx-onward";
  const verdicts = h(
    "div",
    { class: "d2lx-told" },
    told,
    h("dl", {}, ...rows.map((r) => r.el)),
    made,
    onward,
  );

  // The end: all five, and a way to pass them on.
  const score = h("p", { class: "d2lx-claim", tabindex: -1, "data-name": "score" });
  const heads = ["Picture", "You", "Plausible", "Used", "Needed"];
  const table = h("div");
  const lesson = h("p", {}, model.get("lesson"));
  const said = h("span", { class: "d2lx-note", role: "status" });
  const pass = button("Pass it on", async () => {
    const address = location.href.split("#")[0];
    try {
      if (navigator.share && matchMedia("(pointer: coarse)").matches)
        await navigator.share({ title: document.title, url: address });
      else {
        await navigator.clipboard.writeText(address);
        said.textContent = "The address of this page was copied. It opens the first picture.";
      }
    } catch {
      said.textContent = "You can copy the address of this page from the address bar.";
    }
  });
  /** @type {string[] | null} */
  let before = null;
  const empty = () => pictures.map(() => "");
  const again = button("", () => {
    const { answers } = state();
    const back = before;
    before = back ? null : answers;
    next = back ? score : claim;
    update(model, { answers: back ?? empty(), swaps: pictures.map(() => -1), case: 0 });
  });
  const end = h("div", { class: "d2lx-end" }, score, table, lesson);
  // In JupyterLab the address is not the figure's.
  const last = toolRow(...(model.first ? [pass] : []), again, said);
  const asking = h("div", { class: "d2lx-asking" }, claim, choose, tried, verdicts);
  el.append(progress, h("div", { class: "d2lx-look" }, drawing, asking), end, last);
  el.classList.add("d2lx-sign");

  let drawn = -1;
  /** @type {HTMLButtonElement[]} */
  let states = [];
  /** @type {HTMLElement} */
  let asks = h("li");

  function build(picture, k) {
    const { source, target, asked, weights } = picture;
    const row = weights[asked];
    states = source.map((word, i) =>
      h(
        "button",
        {
          type: "button",
          onclick() {
            const { swaps } = state();
            update(model, { swaps: put(swaps, k, swaps[k] === i ? -1 : i) });
          },
        },
        h("span", { class: "d2lx-word", dir: "auto" }, clip(word, WORD)),
        " ",
        h("data", { value: row[i] }, row[i] >= 0.005 ? fixed(row[i]) : ""),
      ),
    );
    left.replaceChildren(...states.map((one) => h("li", {}, one)));
    const words = target.map((word) => h("li", { lang: "fr", dir: "auto" }, clip(word, WORD)));
    asks = words[asked];
    asks.className = "d2lx-asks";
    right.replaceChildren(...words);
    // Lines are as wide as weights, whatever the width of the drawing.
    const size = Math.max(source.length, target.length);
    const y = (i, n) => ((i + 0.5) * size) / n;
    attr(ink, { viewBox: `0 0 100 ${size}` });
    drawing.style.setProperty("--d2lx-rows", String(size));
    const lines = target.flatMap((_, t) =>
      source.map((_, i) => {
        const [from, to, w] = [y(i, source.length), y(t, target.length), weights[t][i]];
        return w < 0.005
          ? ""
          : s("path", {
              d: `M0 ${from}C50 ${from} 50 ${to} 100 ${to}`,
              class: t === asked ? "d2lx-strand d2lx-asked" : "d2lx-strand",
              "stroke-width": Math.max(0.7, WIDEST * w).toFixed(2),
              "data-link": `${i} ${t}`,
            });
      }),
    );
    // What is asked about lies on top.
    ink.replaceChildren(
      ...lines.filter(Boolean).sort((a, b) => a.classList.length - b.classList.length),
    );
  }

  function draw() {
    const now = state();
    const k = now.case;
    const picture = pictures[k];
    const { source, target, other, asked, exchanged } = picture;
    if (drawn !== k) build(picture, k);
    const moved = drawn !== k && drawn >= 0;
    drawn = k;
    const [word, at, swap, given] = [target[asked], pointed(picture), now.swaps[k], now.answers[k]];
    const right_ = (i) => (now.answers[i] === "yes") === judged(pictures[i]).used;
    steps.forEach((one, i) => {
      const done = now.answers[i];
      attr(one, {
        "aria-current": i === k ? "step" : null,
        "aria-label": `Picture ${i + 1} of ${pictures.length}${
          done
            ? `, ${done === "yes" ? "signed" : "not signed"}, ${right_(i) ? "right" : "wrong"}`
            : ""
        }`,
        "data-done": done ? (right_(i) ? "right" : "wrong") : null,
      });
    });

    claim.replaceChildren(
      "To write ",
      em(word),
      ", not ",
      em(picture.turned),
      ", the model used its state at ",
      h("em", {}, source[at]),
      ". Would you sign?",
    );
    states.forEach((one, i) => {
      attr(one, { "aria-pressed": String(swap === i) });
      const text = clip(swap === i ? other[i] : source[i], WORD);
      const label = one.firstElementChild;
      if (label && label.textContent !== text) label.textContent = text;
    });
    const writes = swap < 0 ? word : exchanged[swap][0];
    const flips = writes !== word;
    asks.classList.toggle("d2lx-flips", flips);
    asks.replaceChildren(
      ...(flips
        ? [h("del", {}, clip(word, WORD)), " ", h("ins", {}, clip(writes, WORD))]
        : [h("span", {}, clip(word, WORD))]),
    );
    const changed = other.map((one, i) =>
      one === source[i]
        ? `${i && !/^\W$/.test(one) ? " " : ""}${one}`
        : h("span", {}, i ? " " : "", h("mark", {}, one)),
    );
    const result = flips ? `${word} becomes ${writes}` : `${word} stays`;
    tried.replaceChildren(
      ...(swap < 0
        ? [
            "Not sure? Tap an English word. Its state then comes from ",
            h("q", {}, ...changed),
            ", and the model predicts the word again.",
          ]
        : [
            "The state at ",
            h("em", {}, source[swap]),
            " now comes from ",
            h("q", {}, ...changed),
            ": ",
            h("b", { "data-name": "result" }, result),
            ` (${fixed(exchanged[swap][1], 3)}).`,
          ]),
    );

    choose.hidden = Boolean(given);
    verdicts.hidden = !given;
    const facts = judged(picture);
    const why = reasons(picture, (x) => fixed(x, 3));
    const good = right_(k);
    claim.hidden = Boolean(given);
    const opening = given === "yes" ? "You signed" : "You did not sign";
    told.replaceChildren(
      `${opening}, and you were ${good ? "right" : "wrong"}: the state at `,
      h("em", {}, source[at]),
      ` was ${facts.used ? "" : "not "}used to choose between ${word} and ${picture.turned}.`,
    );
    for (const row of rows) {
      row.says.replaceChildren(mark(facts[row.name]));
      row.why.textContent = why[row.name];
    }
    made.textContent = picture.made;

    const count = now.answers.filter(Boolean).length;
    const all = count === pictures.length;
    const hits = pictures.filter((_, i) => now.answers[i] && right_(i)).length;
    onward.textContent = all ? "Your score" : "Next picture";
    end.hidden = !all;
    score.textContent = all ? `You were right about ${hits} of ${pictures.length}.` : "";
    const scored = pictures.map((one, i) => [
      h(
        "th",
        { scope: "row" },
        `${i + 1}. `,
        em(clip(one.target[one.asked], WORD)),
        " at ",
        h("em", {}, clip(one.source[pointed(one)], WORD)),
      ),
      now.answers[i] === "yes" ? "signed" : "not",
      ...VERDICTS.map((name) => mark(judged(one)[name])),
    ]);
    table.replaceChildren(tableOf({}, heads, all ? scored : []));
    // Nothing is lost by a tap: what "Start again" takes away it gives back.
    if (count) before = null;
    const old = before?.filter(Boolean).length;
    again.hidden = count ? !all : !old;
    again.textContent = count ? "Start again" : `Bring my ${old} answers back`;
    pass.hidden = !all;
    if (next) {
      const focus = next;
      next = null;
      focus.focus({ preventScroll: true });
      // The focus is on a line; what the reader wants to see begins above it, or ends below.
      const seen = focus === told ? verdicts : focus === claim ? progress : end;
      seen.scrollIntoView({ block: "nearest" });
    } else if (moved) progress.scrollIntoView({ block: "nearest" });
    announce(
      el,
      swap >= 0
        ? `State at ${source[swap]} exchanged: ${result}`
        : `Picture ${k + 1}, ${count} answered`,
    );
  }
  return bind(model, STATE, draw).stop;
}

const places = (x, get) => whole(0, get("pictures").length - 1)(x);

export default {
  render,
  rebuild: ["pictures"],
  // Not the answers: whoever gets a link signs for themselves.
  share: { case: places, swaps: whole(-1, MOST - 1) },
  keep: keeping({
    answers: (list, get) =>
      Array.isArray(list) &&
      list.length === get("pictures").length &&
      list.every(oneOf(["", "yes", "no"])),
  }),
};
