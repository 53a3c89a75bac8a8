import {
  announce,
  attr,
  begin,
  bind,
  clip,
  fixed,
  h,
  headLine,
  knobs,
  more,
  plot,
  pool,
  predictFirst,
  presets,
  reader,
  readout,
  readoutRow,
  resetButton,
  toolRow,
  whole,
} from "../kit/index.js";

// Words in a line, wrong ones struck through.
function sentence(text, marks) {
  const parts = text
    .split(" ")
    .flatMap((word, i) => [
      marks[i] === "1" ? h("del", {}, clip(word, 24)) : h("span", {}, clip(word, 24)),
      " ",
    ]);
  return text ? parts : ["(nothing)"];
}

function render({ model, el }) {
  begin(el, "A short sentence at later positions");
  const read = reader(model, ["source", "wanted", "names", "written", "wrong", "bleu", "place"]);
  const { source, wanted, names, bleu } = read();
  const count = bleu[0].length;

  const places = source.map((word) => {
    const number = h("span", { class: "d2lx-place" });
    return { number, el: h("li", {}, h("bdi", {}, clip(word, 24)), number) };
  });
  const english = h("ol", {
    class: "d2lx-placed",
    "aria-label": "English words and their positions",
  });
  english.append(...places.map((one) => one.el));
  const rows = names.map((name, k) => {
    const line = h("p", { class: "d2lx-written", dir: "auto" });
    const bleu = readout(clip(name, 40), `bleu-${k}`, 1);
    return { line, bleu, el: h("div", {}, headLine(clip(name, 40)), line) };
  });
  const right = h("p", { class: "d2lx-written", dir: "auto" }, clip(wanted.join(" "), 400));
  const move = knobs(model).count("place", "Position of the first word", 0, count - 1);

  const chart = plot({
    ...{ label: "BLEU of many short sentences by the position of the first word", height: 190 },
    ...{ xLabel: "position of the first word", yLabel: "BLEU" },
    onresize: () => live?.redraw(),
  });
  const lines = pool(chart.data, "path", { fill: "none", stroke: "var(--d2lx-ink)" });
  const dots = pool(chart.data, "circle", { fill: "var(--d2lx-ink)", r: 5 });
  const labels = pool(chart.data, "text", { class: "d2lx-tick", "text-anchor": "end" });

  const readouts = readoutRow(...rows.map((row) => row.bleu.el));
  const predict = predictFirst({
    question: `If the first word has this position, which BLEU will ${clip(names[0], 40)} reach?`,
    label: "Your guess: BLEU of many short sentences",
    ...{ min: 0, max: 100, step: 1, digits: 0 },
    answer: () => bleu[0][model.get("place")],
    covered: [chart.el, readouts],
    onchange: () => live?.redraw(),
  });
  const firsts = [...new Set([0, (count - 1) >> 1, count - 1])];
  const tools = toolRow(
    ...presets(
      model,
      firsts.map((place) => [`From ${place}`, { place }]),
    ),
    resetButton(model, ["place"], predict.stop),
  );
  // The page needs one sentence; BLEU of many is folded.
  el.append(
    ...[english, move.el],
    ...rows.map((row) => row.el),
    ...[headLine("correct translation"), right],
    more(
      model,
      [],
      [
        ...[tools, predict.el],
        ...[
          headLine("BLEU of many short sentences that begin at this position"),
          chart.el,
          readouts,
        ],
      ],
    ),
  );

  function draw() {
    const { place, written, wrong } = read();
    move.set(place);
    places.forEach((one, i) => {
      one.number.textContent = `${place + i}`;
    });
    rows.forEach((row, k) => {
      row.line.replaceChildren(...sentence(written[k][place], wrong[k][place]));
      row.bleu.set(bleu[k][place]);
    });
    chart.limits([0, count - 1], [0, 100]);
    lines(names.length).forEach((line, k) => {
      chart.path(
        line,
        bleu[k].map((value, i) => [i, value]),
      );
      attr(line, { "stroke-width": k ? 1.5 : 3, "stroke-dasharray": k ? "5 4" : null });
    });
    dots(names.length).forEach((dot, k) => {
      attr(dot, { cx: chart.X(place), cy: chart.Y(bleu[k][place]) });
    });
    labels(names.length).forEach((label, k) => {
      const end = bleu[k].at(-1);
      const below = names.length > 1 && bleu.some((row) => row.at(-1) > end) ? 18 : -10;
      attr(label, { x: chart.X(count - 1), y: chart.Y(end) + (end > 90 ? 18 : below) });
      label.textContent = clip(names[k], 40);
    });
    const told = names.map(
      (name, k) =>
        `${clip(name, 40)} writes ${written[k][place]}, BLEU ${fixed(bleu[k][place], 1)}`,
    );
    announce(el, `First position ${place}. ${told.join(". ")}`);
  }
  const live = bind(model, ["place"], draw, predict.refresh);
  return live.stop;
}

export default {
  render,
  rebuild: ["source", "wanted", "names", "written", "wrong", "bleu"],
  share: { place: (x, get) => whole(0, get("bleu")[0].length - 1)(x) },
};
