import { button, slider } from "./controls.js";
import { clip, freshId, h, toolRow } from "./elements.js";
import { announce } from "./life.js";
import { fixed } from "./numbers.js";

/**
 * What all questions share: hides the results, waits for a guess, then shows both. Whoever has no
 * guess can leave. { toggle, leave, verdict, hidden(), ready(), tell(text), stop() }: ready() once
 * there is a guess; stop() shows everything again, as Reset does.
 *   form       what one guesses with        opening    what is said while all is hidden
 *   covered    the elements to hide         judge()    what is said of the guess
 *   onhide()   when all has been hidden     onchange() redraw
 * @param {{
 *   form: HTMLElement, covered: Element[], opening: string, judge: () => string,
 *   onhide: () => void, onchange: () => void,
 * }} spec
 */
export function hiding({ form, covered, opening, judge, onhide, onchange }) {
  let hidden = false;
  const verdict = h("p", { class: "d2lx-verdict" });
  const tell = (/** @type {string} */ text) => {
    verdict.textContent = text;
    if (text) announce(verdict, text, "verdict");
  };
  const put = (/** @type {boolean} */ now, /** @type {string} */ text) => {
    hidden = toggle.disabled = now;
    form.hidden = leave.hidden = !now;
    toggle.textContent = now ? "Reveal" : "Predict first";
    form.toggleAttribute("data-predicting", now);
    for (const element of covered) element.classList.toggle("d2lx-covered", now);
    tell(text);
    if (now) onhide();
    onchange();
  };
  const toggle = button("Predict first", () => put(!hidden, hidden ? judge() : opening));
  const leave = button("No guess: show it", () => {
    put(false, "");
    toggle.focus();
  });
  form.hidden = leave.hidden = true;
  const ready = (yes = true) => {
    toggle.disabled = hidden && !yes;
  };
  return { toggle, leave, verdict, hidden: () => hidden, ready, tell, stop: () => put(false, "") };
}

/**
 * A question whose answer is a number: { el, guess(), hidden(), refresh(), range(low, high), stop() }.
 * What one predicts from stays in sight: cover no more than what tells the answer, and leave it out
 * of the labels of other elements while hidden().
 * question: the chapter's. label: of the guess. answer(): the true number now. covered: the
 * elements to hide. onchange(): redraw. refresh(): call when the state has changed.
 * @param {{
 *   question: string, label: string, min: number, max: number, step: number, log?: boolean, digits?: number,
 *   answer: () => number, covered: Element[], onchange: () => void,
 * }} spec
 */
export function predictFirst(spec) {
  const { question, label, min, max, step, log = false, digits = 2 } = spec;
  const { answer, covered, onchange } = spec;
  /** @type {number | null} */
  let guess = null;
  const middle = log ? Math.sqrt(min * max) : (min + max) / 2;
  const range = slider({
    ...{ label, min, max, step, log, value: middle },
    text: (x) => (guess === null ? "no guess yet" : fixed(x, digits)),
    oninput(x) {
      guess = x;
      asked.ready();
      range.set(x);
      onchange();
    },
  });
  const form = h("div", { class: "d2lx-guess" }, h("p", {}, question), range.el);
  const forget = () => {
    guess = null;
    range.set(middle);
  };
  const asked = hiding({
    ...{ form, covered, onchange, opening: "The result is hidden. Set your guess, then reveal." },
    judge() {
      const truth = answer();
      const apart = fixed(Math.abs(truth - Number(guess)), digits);
      return (
        `You said ${fixed(Number(guess), digits)}; it is ${fixed(truth, digits)}` +
        (Number.isFinite(truth) ? `: ${apart} apart.` : ".")
      );
    },
    onhide() {
      forget();
      range.input.focus();
    },
  });
  // What was said of an earlier setting is no longer true.
  const refresh = () => {
    if (asked.hidden() || guess === null) return;
    guess = null;
    asked.tell("");
  };
  const stop = () => {
    forget();
    asked.stop();
  };
  const tools = toolRow(asked.toggle, asked.leave);
  const el = h("div", { class: "d2lx-predict" }, form, tools, asked.verdict);
  const limit = (/** @type {number} */ low, /** @type {number} */ high) => {
    range.range(low, high);
    if (guess === null) return;
    guess = Math.min(high, Math.max(low, guess));
    range.set(guess);
  };
  return { el, guess: () => guess, hidden: asked.hidden, refresh, range: limit, stop };
}

/**
 * A question whose answer is one of a few names: { form, question, toggle, leave, verdict, hidden(),
 * forget(), stop() }. forget(): the guess and what was said of it hold no longer.
 *   judge(guess)   what is said of the guess, once it is made
 * @param {{
 *   question: string, options: string[], opening: string, judge: (guess: number) => string,
 *   covered?: Element[], onchange?: () => void,
 * }} spec
 */
export function predictOne({
  question,
  options,
  opening,
  judge,
  covered = [],
  onchange = () => {},
}) {
  let guess = -1;
  const name = freshId();
  const inputs = options.map((_, i) =>
    h("input", {
      ...{ type: "radio", name },
      onchange() {
        guess = i;
        asked.ready();
      },
    }),
  );
  const labels = options.map((text, i) => {
    const label = h("bdi", { title: clip(text, 200) }, clip(text, 16));
    return h("label", { class: "d2lx-choice d2lx-check" }, inputs[i], label);
  });
  const legend = h("legend", {}, question);
  const form = h("fieldset", { class: "d2lx-guess" }, legend, toolRow(...labels));
  const clear = () => {
    guess = -1;
    for (const input of inputs) input.checked = false;
  };
  const asked = hiding({
    ...{ form, covered, opening, onchange, judge: () => judge(guess) },
    onhide() {
      clear();
      inputs[0].focus();
    },
  });
  const forget = () => {
    clear();
    asked.ready(false);
    if (!asked.hidden()) asked.tell("");
  };
  return { form, question: legend, ...asked, forget };
}
