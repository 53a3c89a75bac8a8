// The numbers of each picture: a table, and its heading.
import { clamp, clip, h, headLine, short, show, sum, tableOf } from "../kit/index.js";
import { indexed, PICTURES, ranked } from "./steps.js";

/** @typedef {ReturnType<typeof import("./steps.js").compute>} Step */

// A number in its cell, tinted by its sign and size where it is an entry of a vector.
function cell(/** @type {string} */ name, /** @type {number} */ x, tinted = false, digits = 2) {
  const data = h("data", { "data-name": name });
  show(data, x, digits);
  const colour = x < 0 ? "orange" : "blue";
  const share = Math.round(30 * clamp(Math.abs(x), 0, 1));
  const style = `background:color-mix(in srgb,var(--d2lx-${colour}) ${share}%,transparent)`;
  return h("td", tinted ? { style } : {}, data);
}

const vector = (/** @type {string} */ name, /** @type {number[]} */ entries) =>
  entries.map((x, k) => cell(`${name}-${k}`, x, true));

const bar = (/** @type {number} */ from, /** @type {number} */ to) => {
  const [left, right] = [Math.min(from, to), Math.max(from, to)].map((x) => 100 * clamp(x, 0, 1));
  const fill = h("span", {
    class: "d2lx-fill",
    style: `margin-left:${left}%;width:${right - left}%`,
  });
  return h("td", { class: "d2lx-long" }, h("span", { class: "d2lx-track" }, fill));
};

const name = (/** @type {string} */ text, marked = false) =>
  h(
    "th",
    { scope: "row", class: marked ? "d2lx-most" : null, title: clip(text, 200) },
    h("bdi", {}, clip(text, 14)),
  );

/**
 * @param {import("./steps.js").Board} board
 * @param {Step} now
 * @param {number} picture
 */
export function table(board, now, picture) {
  const { i, weights, scores } = now;
  const [width, wordWidth, vocabulary] = board.widths;
  const [asking, coming, context] = [indexed("s", i), indexed("s", i + 1), indexed("c", i + 1)];
  const numbers = board.values[0].map((_, k) => String(k + 1));
  const entries = `entries 1–${numbers.length}`;
  const each = (/** @type {(word: string, t: number) => Element[]} */ make) =>
    board.source.map((word, t) => [name(word, t === ranked(weights)[0]), ...make(word, t)]);
  const [low, high] = [Math.min(0, ...scores), Math.max(0, ...scores)];
  const along = (/** @type {number} */ x) => (x - low) / (high - low || 1);
  /** @type {Record<string, () => [string, string[], Element[][]]>} */
  const parts = {
    read: () => [
      `States h: ${entries} of ${width}`,
      ["word", ...numbers],
      board.source.map((word, t) => [name(word), ...vector(`value-${t}`, board.values[t])]),
    ],
    query: () => [
      `The query: ${entries} of ${width}`,
      ["state", ...numbers],
      [
        [name(asking), ...vector("before", now.before)],
        [name(coming), h("td", { colspan: numbers.length }, "does not exist yet")],
      ],
    ],
    score: () => [
      "All scores",
      ["word", "from 0", "score"],
      each((_, t) => [bar(along(0), along(scores[t])), cell(`score-${t}`, scores[t], false, 3)]),
    ],
    normalise: () => [
      "From the scores to the weights",
      ["word", "score", "e^score", "from 0 to 1", "weight"],
      [
        ...each((_, t) => {
          const power = cell(`power-${t}`, now.powers[t]);
          /** @type {HTMLElement} */ (power.firstChild).textContent = short(now.powers[t]);
          return [
            cell(`score-${t}`, scores[t]),
            power,
            bar(0, weights[t]),
            cell(`weight-${t}`, weights[t], false, 3),
          ];
        }),
        [
          name("sum"),
          h("td"),
          cell("total", now.total),
          h("td"),
          cell("weights", sum(weights), false, 3),
        ],
      ],
    ],
    sum: () => [
      `Weight times state: ${entries} of ${width}`,
      ["word", "weight", ...numbers],
      [
        ...each((_, t) => [
          cell(`weight-${t}`, weights[t], false, 3),
          ...vector(`part-${t}`, now.parts[t]),
        ]),
        [name(`sum: ${context}`), h("td"), ...vector("context", now.context)],
      ],
    ],
    join: () => [
      `The input of the GRU: ${entries}`,
      ["", ...numbers, "of"],
      [
        [name(context), ...vector("context", now.context), h("td", {}, String(width))],
        [
          name(`y: ${now.last}`),
          ...vector("embedding", now.embedding),
          h("td", {}, String(wordWidth)),
        ],
      ],
    ],
    step: () => [
      `Before, after: ${entries} of ${width}`,
      ["state", ...numbers],
      [
        [name(asking), ...vector("before", now.before)],
        [name(coming), ...vector("after", now.after)],
        [name("change"), ...vector("change", now.change)],
      ],
    ],
    write: () => [
      "The likeliest words",
      ["word", "from 0 to 1", "probability"],
      [
        ...now.candidates.map((word, j) => [
          name(word, word === now.next),
          bar(0, now.chances[j]),
          cell(`chance-${j}`, now.chances[j], false, 3),
        ]),
        ...(vocabulary > now.candidates.length
          ? [
              [
                name(`${vocabulary - now.candidates.length} others`),
                bar(0, now.rest),
                cell("rest", now.rest, false, 3),
              ],
            ]
          : []),
      ],
    ],
  };
  const [title, head, rows] = parts[PICTURES[picture - 1]]();
  return [
    headLine(title),
    tableOf({ class: `d2lx-board${head.includes(numbers[0]) ? " d2lx-vectors" : ""}` }, head, rows),
  ];
}
