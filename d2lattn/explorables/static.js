// The static host: a model of a few lines in place of the kernel. It finds the first element of
// its kind that nobody has started, draws beside the words that stand there, and takes them away
// only if the drawing succeeded.
function startStatic(explorable, kind, state) {
  const place = document.querySelector(`[data-d2lx="${kind}"]:not([data-live])`);
  if (!place) return;
  place.dataset.live = "";
  const heard = {};
  const model = {
    get: (name) => state[name],
    set(name, value) {
      if (state[name] === value) return;
      state[name] = value;
      (heard[`change:${name}`] ?? []).slice().forEach((listener) => listener());
    },
    save_changes() {},
    on: (event, listener) => (heard[event] ??= []).push(listener),
    off: (event, listener) => (heard[event] = (heard[event] ?? []).filter((f) => f !== listener)),
  };
  const el = document.createElement("div");
  place.append(el);
  explorable.render({ model, el });
  place.replaceChildren(el);
}
