// Predict first: which head will be missed least? A guess by name, so no slider as in the kit.
import { announce, button, freshId, h } from "../kit/index.js";

/**
 * { form, toggle, verdict, forget() }.
 *   judge(guess)   what is said of the guess, once it is made
 *   covered        what tells the answer
 * @param {{
 *   question: string, options: string[], judge: (guess: number) => string, covered: Element[],
 * }} spec
 */
export function predictOne({ question, options, judge, covered }) {
  let guess = -1;
  let hidden = false;
  const name = freshId();
  const inputs = options.map((_, i) =>
    h("input", {
      ...{ type: "radio", name },
      onchange() {
        guess = i;
        toggle.disabled = false;
      },
    }),
  );
  const form = h(
    "fieldset",
    { class: "d2lx-guess", hidden: true },
    h("legend", {}, question),
    h(
      "div",
      { class: "d2lx-tools" },
      ...options.map((text, i) => h("label", { class: "d2lx-choice d2lx-check" }, inputs[i], text)),
    ),
  );
  const verdict = h("p", { class: "d2lx-verdict" });
  const say = (/** @type {string} */ text) => {
    verdict.textContent = text;
    if (text) announce(form, text, "verdict");
  };
  const clear = () => {
    guess = -1;
    toggle.disabled = hidden;
    for (const input of inputs) input.checked = false;
  };
  const toggle = button("Predict first", () => {
    hidden = !hidden;
    form.hidden = !hidden;
    form.toggleAttribute("data-predicting", hidden);
    toggle.textContent = hidden ? "Reveal" : "Predict first";
    for (const element of covered) element.classList.toggle("d2lx-covered", hidden);
    if (hidden) {
      clear();
      say("The losses are hidden; the maps are not. Choose a head, then reveal.");
      inputs[0].focus();
    } else say(judge(guess));
  });
  // What was said holds for the losses that were judged.
  const forget = () => {
    clear();
    if (!hidden) say("");
  };
  return { form, toggle, verdict, forget };
}
