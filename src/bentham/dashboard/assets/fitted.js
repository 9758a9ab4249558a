// Shortens texts in the middle: names of models often differ only at their ends.

import { h } from "/assets/dom.js";

const TAIL = 10; // letters at the end that are always shown
const MAX_KNOWN = 20_000;
const known = new Map(); // a font, the available width and a text -> the text that fits

// A text that is cut in the middle if the space is too narrow.
export function clip(text) {
  const letters = Array.from(text);
  if (letters.length <= 2 * TAIL) return h("span.clip", { title: text }, h("span.head", {}, text));
  return h("span.clip", { title: text },
    h("span.head", {}, letters.slice(0, -TAIL).join("")), h("span.tail", {}, letters.slice(-TAIL).join("")));
}

// As much of a text as fits on a canvas.
export function fitted(pen, text, maxWidth) {
  const key = `${pen.font} ${Math.round(maxWidth)} ${text}`;
  if (!known.has(key)) {
    if (known.size > MAX_KNOWN) known.clear();
    known.set(key, shortened(pen, text, maxWidth));
  }
  return known.get(key);
}

function shortened(pen, text, maxWidth) {
  const letters = Array.from(text.slice(0, 200));
  const whole = letters.join("");
  if (pen.measureText(whole).width <= maxWidth) return whole;
  const cut = (count) => {
    const tail = Math.floor(0.4 * count);
    return `${letters.slice(0, count - tail).join("")}…${tail ? letters.slice(-tail).join("") : ""}`;
  };
  let [low, high] = [0, letters.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(cut(middle)).width <= maxWidth) low = middle;
    else high = middle - 1;
  }
  return cut(low);
}
