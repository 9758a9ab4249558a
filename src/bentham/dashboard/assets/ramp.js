// Maps values to colours on one even ramp, from close to the page's background to the strongest
// contrast, so that larger values stand out more. Lightness alone gives the order, so colour-blind
// readers can see it too.

import { h } from "/assets/dom.js";

const STEPS = 256;
// Lightness, chroma and hue (OKLCH) at the ends and in the middle.
const PALE = [0.955, 0.045, 105];
const MIDDLE = [0.63, 0.09, 195];
const DEEP = [0.3, 0.115, 275];

function between(one, other, part) {
  return one.map((value, place) => value + (other[place] - value) * part);
}

function shade(part) {
  return part < 0.5 ? between(PALE, MIDDLE, 2 * part) : between(MIDDLE, DEEP, 2 * part - 1);
}

// The ramp as pixels, lowest value first; the browser converts the colours.
export function ramp(dark) {
  const canvas = h("canvas", { width: STEPS, height: 1 });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  for (let step = 0; step < STEPS; step += 1) {
    const part = step / (STEPS - 1);
    const [lightness, chroma, hue] = shade(dark ? 1 - part : part);
    pen.fillStyle = `oklch(${lightness} ${chroma} ${hue})`;
    pen.fillRect(step, 0, 1, 1);
  }
  return new Uint32Array(pen.getImageData(0, 0, STEPS, 1).data.buffer);
}

// Whether the page is dark now, by the user's choice or the system's.
export function isDark() {
  const theme = document.documentElement.dataset.theme;
  if (theme === "light" || theme === "dark") return theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// The range of values that the ramp covers: the middle 96 %, so that one outlier does not use up the
// colours. Of many values only a sample is used. With `log` the scale is logarithmic, over at most
// three powers of ten.
export function endsOf(columns, log = false, maxSampled = 20_000) {
  const total = columns.reduce((sum, column) => sum + column.length, 0);
  const stride = Math.max(1, Math.floor(total / maxSampled));
  const values = [];
  let at = 0;
  for (const column of columns) {
    for (; at < column.length; at += stride) {
      const value = column[at];
      if (Number.isFinite(value) && !(log && value <= 0)) values.push(value);
    }
    at -= column.length;
  }
  if (!values.length) return null;
  const sorted = Float64Array.from(values).sort();
  const quantile = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [low, high] = [quantile(0.02), quantile(0.98)];
  return { low: log ? Math.max(low, high / 1000) : low, high, log };
}

// The place of a value on the ramp, from 0 to 255.
export function stepOf(value, { low, high, log }) {
  if (!(high > low)) return value >= high ? STEPS - 1 : 0;
  const part = log
    ? Math.log(Math.max(value, low) / low) / Math.log(high / low)
    : (value - low) / (high - low);
  return Math.round((STEPS - 1) * Math.min(1, Math.max(0, part)));
}
