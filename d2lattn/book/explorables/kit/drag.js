import { attr, onKeys, s } from "./elements.js";

/**
 * Makes an SVG shape a point that moves: by mouse, by touch and by arrow keys. Draw the shape
 * around (0, 0). Returns { el, place(x, y, words, [low, high]) }: put el into the plot's data; place
 * sets where it is, how that is said, and the range of x.
 *   onmove(x, y)   the new place; x and y are numbers in the units of the axes
 *   step()         [by x, by y] for one press of an arrow key; with shift ten times as much.
 *                  A step of 0 keeps that direction fixed.
 * @param {import("./plot.js").Plot} axes
 * @param {SVGElement} shape
 * @param {{ label: string, step: () => number[], onmove: (x: number, y: number) => void }} spec
 */
export function draggable(axes, shape, { label, step, onmove }) {
  let [x, y] = [0, 0];
  let placed = [0, 0];
  // What a finger hits is larger than what is seen.
  const hit = s("circle", { r: 12, fill: "transparent" });
  const el = s("g", { tabindex: 0, role: "slider", "aria-label": label, class: "d2lx-handle" });
  el.append(hit, shape);
  // Presses may come faster than frames: each starts where the last one went, but in the next frame
  // from where the figure has put the point, which may have come to the end of its range.
  const go = (/** @type {number} */ nextX, /** @type {number} */ nextY) => {
    [x, y] = [nextX, nextY];
    onmove(x, y);
    requestAnimationFrame(() => {
      [x, y] = placed;
    });
  };
  onKeys(el, (key, event) => {
    /** @type {Record<string, [number, number]>} */
    const signs = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, 1],
      ArrowDown: [0, -1],
    };
    const sign = signs[key];
    if (!sign) return;
    const many = event.shiftKey ? 10 : 1;
    const [dx, dy] = step();
    // Where one direction is fixed, all four arrows move along the other.
    const [byX, byY] = [dy ? sign[0] : sign[0] || sign[1], dx ? sign[1] : sign[0] || sign[1]];
    go(x + many * dx * byX, y + many * dy * byY);
    return true;
  });
  // Browsers ignore touch-action on shapes, and scroll the page unless the touch itself is taken.
  el.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  el.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    el.setPointerCapture(event.pointerId);
    el.focus();
    event.preventDefault();
  });
  el.addEventListener("pointermove", (event) => {
    if (!el.hasPointerCapture(event.pointerId)) return;
    const area = axes.svg.getBoundingClientRect();
    const to = [axes.unX(event.clientX - area.left), axes.unY(event.clientY - area.top)];
    const [dx, dy] = step();
    go(dx ? to[0] : x, dy ? to[1] : y);
  });
  /** @type {(nextX: number, nextY: number, words: string, range: number[]) => void} */
  const place = (nextX, nextY, words, [low, high]) => {
    [x, y] = placed = [nextX, nextY];
    attr(el, {
      transform: `translate(${axes.X(x)} ${axes.Y(y)})`,
      "aria-valuenow": x,
      "aria-valuetext": words,
      "aria-valuemin": low,
      "aria-valuemax": high,
    });
  };
  return { el, place };
}
