// Saves drawings of the page as an SVG file with their current colours.

import { s } from "/assets/dom.js";
import { save } from "/assets/save.js";

const COPIED_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
  "paint-order", "font-size", "font-family", "font-weight", "visibility"];
const LETTER_WIDTH = 7.1; // approximate width of a letter in pixels
const GAP = 24;

// Save drawings one below the other, under a title and some sentences.
export function savePicture(name, title, sentences, figures) {
  const style = getComputedStyle(document.body);
  const background = getComputedStyle(document.querySelector(".panel") ?? document.body).backgroundColor;
  const width = Math.max(...figures.map(({ drawing }) => drawing.clientWidth || Number(drawing.getAttribute("width")))) + 2 * GAP;
  const lines = sentences.flatMap((text) => wrapped(text, (width - 2 * GAP) / LETTER_WIDTH));
  const parts = [];
  let top = GAP + 18;
  const text = (line, left, size, weight = "400") => parts.push(s("text", {
    x: left, y: top, "font-size": size, "font-weight": weight, fill: style.color, "font-family": style.fontFamily }, line));
  text(title, GAP, 18, "650");
  top += 6;
  for (const line of lines) {
    top += 20;
    text(line, GAP, 13.5);
  }
  for (const { drawing, heading, legend } of figures) {
    top += 36;
    text(heading, GAP, 14, "650");
    let left = GAP;
    top += 20;
    const drawnLines = drawing.querySelectorAll(".line"); // the same number and order as the legend
    for (const [place, item] of legend.entries()) {
      const lineStyle = drawnLines[place] && getComputedStyle(drawnLines[place]);
      parts.push(s("line", { x1: left, x2: left + 22, y1: top - 4, y2: top - 4,
        stroke: lineStyle?.stroke, "stroke-width": 2.5, "stroke-dasharray": lineStyle?.strokeDasharray }));
      text(item.textContent, left + 28, 12);
      left += 52 + item.textContent.length * 6.4;
      if (left > width - 190) {
        left = GAP;
        top += 18;
      }
    }
    const copy = styledCopy(drawing);
    copy.setAttribute("x", GAP);
    copy.setAttribute("y", top + 6);
    parts.push(copy);
    top += Number(drawing.getAttribute("height")) + 6;
  }
  const height = top + GAP;
  const image = s("svg", { width, height, viewBox: `0 0 ${width} ${height}` },
    s("rect", { width, height, fill: background }), parts);
  save(name, new XMLSerializer().serializeToString(image), "image/svg+xml");
}

// A copy with inline styles, independent of the style sheet.
function styledCopy(drawing) {
  const copy = drawing.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [drawing, ...drawing.querySelectorAll("*")].forEach((node, place) => {
    const style = getComputedStyle(node);
    for (const name of COPIED_STYLES) copies[place].setAttribute(name, style.getPropertyValue(name));
    copies[place].removeAttribute("class");
  });
  return copy;
}

function wrapped(text, maxLetters) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line && line.length + word.length + 1 > maxLetters) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}
