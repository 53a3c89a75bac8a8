// The landing page's figure: a query that can be moved, three keys, and the answer that moves along.
// It stands in the page as it is at the start; this script makes it move.
/** @typedef {[number, number]} Place */

/** @param {string} selector What images/one-look.html has, and a test opens */
const find = (selector) =>
  /** @type {HTMLElement} */ (document.querySelector(`.one-look ${selector}`));

const svg = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (find("svg")));
const handle = find(".handle");
const sharp = /** @type {HTMLInputElement} */ (find("input"));
const told = find("[role=status]");

/** @type {{at: Place, value: number}[]} */
const KEYS = [
  { at: [262, 82], value: 40 },
  { at: [328, 222], value: 20 },
  { at: [250, 352], value: 10 },
];
/** @type {Place} */
const START = [110.61, 290.03]; // where squared distances differ by the scores 3, 1 and 0
const UNIT = 119.62; // a length whose square is a score of 1
const THICK = 22; // of a line with all the weight
const VALUES = 440;
const ANSWER = 582;
const height = (/** @type {number} */ value) => 392 - value * 7.6;
/** @param {Place} from @param {Place} to */
const curve = ([a, b], [c, d]) => `M${a} ${b}C${(a + c) / 2} ${b} ${(a + c) / 2} ${d} ${c} ${d}`;
const round = (/** @type {number} */ number) => Math.round(number * 100) / 100;

/** @type {Place} */
let query = START;

/**
 * Weights of the keys for a query that stands here, and their answer.
 * @param {Place} place @param {number} sharpness
 */
function look([x, y], sharpness) {
  const scores = KEYS.map(
    ({ at: [a, b] }) => (-sharpness * ((a - x) ** 2 + (b - y) ** 2)) / UNIT ** 2,
  );
  const most = Math.max(...scores);
  const parts = scores.map((score) => Math.exp(score - most));
  const sum = parts.reduce((a, b) => a + b);
  const weights = parts.map((part) => part / sum);
  return { weights, answer: weights.reduce((total, w, i) => total + w * KEYS[i].value, 0) };
}

/** @param {number} answer */
function say(answer) {
  if (Math.abs(answer - 25) < 0.5)
    return ["That is close to 25.", "None of the values is 25; it is an average. Now try 45."];
  if (answer > 39.3)
    return ["You cannot reach 45.", "An average is never above the largest value, 40."];
  return ["Can you make it 25? And 45?", "The thicker a line, the larger the weight."];
}

function draw() {
  const { weights, answer } = look(query, Math.exp(Number(sharp.value)));
  weights.forEach((weight, i) => {
    const { at, value } = KEYS[i];
    const lines = [...svg.querySelectorAll(`.key-${i} .strand`)];
    const [first, second, third] = lines;
    const [x, y] = query.map(round);
    const [a, b] = at;
    const bend = `${round(0.6 * x + 0.4 * a)} ${round(0.6 * y + 0.4 * b)} ${a - 55} ${b}`;
    first.setAttribute("d", `M${x} ${y}C${bend} ${a} ${b}`);
    second.setAttribute("d", curve(at, [VALUES, height(value)]));
    third.setAttribute("d", curve([VALUES, height(value)], [ANSWER, round(height(answer))]));
    const width = round(Math.max(0.7, weight * THICK));
    for (const line of lines) line.setAttribute("stroke-width", String(width));
    find(`.share-${i}`).textContent = weight.toFixed(2);
  });
  find(".answer").setAttribute("transform", `translate(${ANSWER} ${round(height(answer))})`);
  find(".answer text").textContent = answer.toFixed(1);
  handle.setAttribute("transform", `translate(${query.map(round).join(" ")})`);
  handle.setAttribute("aria-valuenow", answer.toFixed(1));
  handle.setAttribute(
    "aria-valuetext",
    `answer ${answer.toFixed(1)}; weights: ${weights
      .map((w, i) => `${w.toFixed(2)} for ${KEYS[i].value}`)
      .join(", ")}`,
  );
  return answer;
}

/** @param {number} answer */
function tell(answer) {
  const [strong, more] = say(answer);
  const bold = Object.assign(document.createElement("b"), { textContent: strong });
  told.replaceChildren(bold, ` ${more}`);
}

/** @param {number} x @param {number} y */
function move(x, y) {
  query = [Math.min(205, Math.max(20, x)), Math.min(400, Math.max(40, y))];
  tell(draw());
}

handle.addEventListener("pointerdown", (event) => {
  handle.setPointerCapture(event.pointerId);
  handle.focus({ preventScroll: true });
});
handle.addEventListener("pointermove", (event) => {
  if (!handle.hasPointerCapture(event.pointerId)) return;
  const point = new DOMPoint(event.clientX, event.clientY);
  const { x, y } = point.matrixTransform(svg.getScreenCTM()?.inverse());
  move(x, y);
});
/** @type {Record<string, Place>} */
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
handle.addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const far = event.shiftKey ? 20 : 5;
  move(query[0] + far * step[0], query[1] + far * step[1]);
});
sharp.addEventListener("input", () => tell(draw()));
const slider = { tabindex: 0, role: "slider", "aria-valuemin": 10, "aria-valuemax": 40 };
for (const [name, value] of Object.entries(slider)) handle.setAttribute(name, String(value));
find(".play").hidden = false;
draw();
