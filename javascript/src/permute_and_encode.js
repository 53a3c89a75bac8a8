import { begin, bind, choice, oneOf, update, whole } from "./kit/index.js";
import { orderView } from "./permute/order.js";
import { FAR, wavesView } from "./permute/waves.js";

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
  begin(el, "Permute and encode");
  const redraw = () => live?.redraw();
  const views = [orderView(model, redraw), wavesView(model, redraw)];
  const view = choice({
    label: "View",
    options: ["order: words change places", "waves: what a position adds"],
    onchange: (k) => update(model, { view: VIEWS[k] }),
  });
  el.append(view.el, ...views.map((one) => one.el));
  const live = bind(model, Object.keys(share), () => {
    const now = VIEWS.indexOf(model.get("view"));
    view.set(now);
    views.forEach((one, k) => {
      one.el.hidden = k !== now;
    });
    views[now].draw();
  });
  return live.stop;
}

export default {
  render,
  rebuild: ["tokens", "embeddings", "W_q", "W_k", "W_v"],
  share,
};
