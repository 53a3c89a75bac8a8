import { button, slider } from "./controls.js";
import { h } from "./elements.js";
import { announce } from "./life.js";
import { fixed } from "./numbers.js";

/**
 * Hides the results, waits for a guess, then shows both: { el, guess(), hidden(), refresh() }.
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
  const {
    question,
    label,
    min,
    max,
    step,
    log = false,
    digits = 2,
    answer,
    covered,
    onchange,
  } = spec;
  /** @type {number | null} */
  let guess = null;
  let hidden = false;
  const verdict = h("p", { class: "d2lx-verdict" });
  const middle = log ? Math.sqrt(min * max) : (min + max) / 2;
  const range = slider({
    ...{ label, min, max, step, log, value: middle },
    text: (x) => (guess === null ? "no guess yet" : fixed(x, digits)),
    oninput(x) {
      guess = x;
      toggle.disabled = false;
      range.set(x);
      onchange();
    },
  });
  const form = h("div", { class: "d2lx-guess", hidden: true }, h("p", {}, question), range.el);
  const tell = (/** @type {string} */ text) => {
    verdict.textContent = text;
    if (text) announce(el, text, "verdict");
  };
  const toggle = button("Predict first", () => {
    hidden = !hidden;
    form.hidden = !hidden;
    toggle.textContent = hidden ? "Reveal" : "Predict first";
    for (const element of covered) element.classList.toggle("d2lx-covered", hidden);
    el.toggleAttribute("data-predicting", hidden);
    if (hidden) {
      guess = null;
      toggle.disabled = true;
      range.set(middle);
      tell("The result is hidden. Set your guess, then reveal.");
      range.input.focus();
    } else {
      const truth = answer();
      const apart = fixed(Math.abs(truth - Number(guess)), digits);
      tell(
        `You said ${fixed(Number(guess), digits)}; it is ${fixed(truth, digits)}` +
          (Number.isFinite(truth) ? `: ${apart} apart.` : "."),
      );
    }
    onchange();
  });
  // What was said of an earlier setting is no longer true.
  const refresh = () => {
    if (hidden || guess === null) return;
    guess = null;
    tell("");
  };
  const el = h("div", { class: "d2lx-predict" }, form, toggle, verdict);
  const limit = (/** @type {number} */ low, /** @type {number} */ high) => {
    range.range(low, high);
    if (guess === null) return;
    guess = Math.min(high, Math.max(low, guess));
    range.set(guess);
  };
  return { el, guess: () => guess, hidden: () => hidden, refresh, range: limit };
}
