import { clamp } from "./arithmetic.js";

const REDS = [
  0xfff5f0, 0xfee0d2, 0xfcbba1, 0xfc9272, 0xfb6a4a, 0xef3b2c, 0xcb181d, 0xa50f15, 0x67000d,
];

/**
 * matplotlib's "Reds" for a value from 0 to 1, as [red, green, blue].
 * @param {number} value
 */
export function redsRgb(value) {
  const place = (clamp(Math.floor(value * 256), 0, 255) / 255) * 8;
  const low = Math.min(7, Math.floor(place));
  return [16, 8, 0].map((shift) => {
    const [from, to] = [REDS[low], REDS[low + 1]].map((colour) => (colour >> shift) & 255);
    return Math.round(from + (to - from) * (place - low));
  });
}

/** The same for CSS. @param {number} value */
export const reds = (value) => `rgb(${redsRgb(value).join(",")})`;

/** What can be read on it. @param {number} value */
export const inkOn = (value) => (value > 0.55 ? "#fff" : "#1a1a1a");
