import { begin, bind, columns, h, knobs, more, oneOf, whole } from "../kit/index.js";
import { orderView } from "./order.js";
import { FAR, wavesView } from "./waves.js";

const VIEWS = ["order", "waves"];
const word = (/** @type {any} */ x, /** @type {(name: string) => any} */ get) =>
  whole(0, get("tokens").length - 1)(x);
const share = {
  view: oneOf(VIEWS),
  order: word,
  positions: () => true,
  word,
  position: whole(0, FAR),
  offset: whole(0, FAR),
  frequencies: () => true,
};

function render({ model, el }) {
  begin(el, "Words change places");
  const redraw = () => live?.redraw();
  const [order, waves] = [orderView(model, redraw), wavesView(model, redraw)];
  const views = [order, waves];
  const { pick } = knobs(model);
  const view = pick("view", "View", ["words change places", "sinusoidal positions"], VIEWS);
  const further = Object.values(order.further).map((parts) => h("div", {}, ...parts));
  const fold = columns({ result: [], controls: [view.el, further[0]], more: [further[1]] });
  el.append(...views.map((one) => one.el), more(model, ["view"], [fold]));
  const live = bind(model, Object.keys(share), () => {
    const now = VIEWS.indexOf(model.get("view"));
    view.set(now);
    views.forEach((one, k) => {
      one.el.hidden = k !== now;
    });
    for (const one of further) one.hidden = now > 0;
    views[now].draw();
  });
  return live.stop;
}

export default {
  render,
  rebuild: ["tokens", "embeddings", "W_q", "W_k", "W_v", "clock"],
  share,
};
