import { check, choice, slider } from "./controls.js";
import { update } from "./life.js";

const whole = (/** @type {number} */ x) => String(Math.round(x)).replace("-", "−");

/**
 * Controls that each move one trait: number, count (whole numbers), pick (one of some values) and
 * tick. sync(state) puts all of them where the traits are. What slider takes can be given last.
 * @param {import("./life.js").Model} model
 */
export function knobs(model) {
  /** @type {((state: Record<string, any>) => void)[]} */
  const all = [];
  const move = (/** @type {string} */ name, /** @type {unknown} */ x) =>
    update(model, { [name]: x });
  /** @typedef {Partial<Parameters<typeof slider>[0]>} More */
  /** @type {(name: string, label: string, min: number, max: number, spec?: More) => ReturnType<typeof slider>} */
  const number = (name, label, min, max, spec = {}) => {
    const value = model.get(name);
    const made = slider({
      label,
      min,
      max,
      step: 0.01,
      value,
      oninput: (x) => move(name, x),
      ...spec,
    });
    all.push((state) => made.set(state[name]));
    return made;
  };
  /** @type {typeof number} */
  const count = (name, label, min, max, spec = {}) => {
    const oninput = (/** @type {number} */ x) => move(name, Math.round(x));
    return number(name, label, min, max, { step: 1, text: whole, oninput, ...spec });
  };
  /** @type {(name: string, label: string, options: string[], values?: any[]) => ReturnType<typeof choice>} */
  const pick = (name, label, options, values = options.map((_, i) => i)) => {
    const made = choice({ label, options, onchange: (i) => move(name, values[i]) });
    all.push((state) => made.set(values.indexOf(state[name])));
    return made;
  };
  /** @type {(name: string, label: string) => ReturnType<typeof check>} */
  const tick = (name, label) => {
    const made = check({ label, onchange: (on) => move(name, on) });
    all.push((state) => made.set(state[name]));
    return made;
  };
  const sync = (/** @type {Record<string, any>} */ state) => {
    for (const set of all) set(state);
  };
  return { number, count, pick, tick, sync };
}
