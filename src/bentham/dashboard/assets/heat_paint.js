// Draws the part of the heatmap that is in view. Each cell is one pixel of a small image, which is then
// scaled up, so that thousands of cells cost as much as one.

import { h } from "/assets/dom.js";
import { fitted } from "/assets/fitted.js";
import { FAILED, OBSERVED, RUNNING, UNTRIED, lowerBound } from "/assets/heat_rows.js";
import { endsOf, isDark, ramp, stepOf } from "/assets/ramp.js";
import { colour } from "/assets/theme.js";

const SMALL = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
// The minimum size of cells, in pixels, for row and column names, for marks, and for values.
export const NAME_SIZE = 11;
const MARK_SIZE = 7;
const VALUE_SIZE = 44;
// Column names are slanted; if columns are narrower than a line of text needs, some are left out.
const SLANT = Math.PI / 3;
const NAME_SPACE = 14;
const nameLength = (top) => (top - 12) * 1.1;
// How far the name of the last column extends beyond it, at most.
export const overhang = (wide, top) => (wide < NAME_SIZE ? 0 : Math.max(0, nameLength(top) * Math.cos(SLANT) + 8 - wide / 2));

const cells = h("canvas");
const cellsPen = cells.getContext("2d");

// The colours of the current theme.
export function palette() {
  const pixel = (name) => {
    const [red, green, blue] = colour(name).match(/[\d.]+/g).map(Number);
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  };
  const dark = isDark();
  const [low, high] = dark ? ["#fff", "#10181a"] : ["#10181a", "#fff"];
  return {
    ramp: ramp(dark),
    inks: Array.from({ length: 256 }, (_, step) => (step < (dark ? 103 : 152) ? low : high)),
    none: pixel("raised"),
    surface: colour("surface"),
    line: colour("line"),
    ink: colour("ink"),
    soft: colour("soft"),
    faint: colour("faint"),
    accent: colour("accent"),
    second: colour("second"),
    bad: colour("bad"),
  };
}

// The range of values that the colours of one row cover.
function rowEnds(row, kind, log) {
  row.ends ??= {};
  return (row.ends[kind] ??= endsOf([row[kind]], log) ?? { low: 0, high: 0, log });
}

// Draw the heatmap. `view`: { width, height, left, top (of the cells), x, y (scroll position), wide, high
// (of a cell) }; `display`: { kind, log, ends (null: per row), show (formats a value), colours, active,
// hover (cells) }.
export function paint(pen, rows, view, display) {
  const { wide, high, left, top, x, y } = view;
  const inner = { width: view.width - left, height: view.height - top };
  const firstRow = Math.max(0, Math.floor(y / high));
  const lastRow = Math.min(rows.shown.length, Math.ceil((y + inner.height) / high));
  const firstSlot = Math.max(0, Math.floor(x / wide));
  const lastSlot = Math.min(rows.columns.length, Math.ceil((x + inner.width) / wide));
  const across = Math.max(0, lastSlot - firstSlot);
  const down = Math.max(0, lastRow - firstRow);

  pen.fillStyle = display.colours.surface;
  pen.fillRect(0, 0, view.width, view.height);
  if (!across || !down) return;
  pen.save();
  pen.beginPath();
  pen.rect(left, top, inner.width, inner.height);
  pen.clip();
  const labels = [];
  const marks = { untried: new Path2D(), running: new Path2D(), failed: new Path2D() };
  const image = cellsPen.createImageData(across, down);
  const pixels = new Uint32Array(image.data.buffer);
  for (let place = firstRow; place < lastRow; place += 1) {
    const row = rows.shown[place];
    const ends = display.ends ?? rowEnds(row, display.kind, display.log);
    const values = row[display.kind];
    const start = (place - firstRow) * across - firstSlot;
    for (let at = lowerBound(row, rows.columns[firstSlot]); at < row.columns.length; at += 1) {
      const slot = rows.slots[row.columns[at]];
      if (slot >= lastSlot) break;
      const value = values[at];
      const state = row.states[at];
      const hasValue = Number.isFinite(value);
      const step = hasValue ? stepOf(value, ends) : 0;
      pixels[start + slot] = hasValue ? display.colours.ramp[step] : display.colours.none;
      if (high < MARK_SIZE) continue;
      const [cornerX, cornerY] = [left + slot * wide - x, top + place * high - y];
      if (state === RUNNING || state === FAILED || (!hasValue && state !== OBSERVED)) {
        mark(marks, state, cornerX, cornerY, wide, high);
      }
      if (hasValue && wide >= VALUE_SIZE && state !== FAILED) {
        labels.push([display.show(value), step, cornerX + wide / 2, cornerY + high / 2]);
      }
    }
  }
  if (cells.width !== across || cells.height !== down) {
    cells.width = across;
    cells.height = down;
  }
  cellsPen.putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(cells, left + firstSlot * wide - x, top + firstRow * high - y, across * wide, down * high);
  if (high >= MARK_SIZE) {
    gaps(pen, view, display, { firstRow, lastRow, firstSlot, lastSlot });
    stroke(pen, marks.untried, display.colours.faint, 1);
    stroke(pen, marks.running, display.colours.surface, 4);
    stroke(pen, marks.running, display.colours.second, 2);
    stroke(pen, marks.failed, display.colours.surface, 3.5);
    stroke(pen, marks.failed, display.colours.bad, 1.75);
    write(pen, labels, display.colours);
  }
  frame(pen, view, display.hover, display.colours.ink, 1.5);
  frame(pen, view, display.active, display.colours.ink, 3);
  pen.restore();
  rowNames(pen, rows, view, display, firstRow, lastRow);
  columnNames(pen, rows, view, display, firstSlot, lastSlot);
}

function mark(marks, state, left, top, wide, high) {
  const inset = Math.max(1.5, high * 0.14);
  if (state === RUNNING) {
    marks.running.rect(left + inset, top + inset, wide - 2 * inset - 1, high - 2 * inset - 1);
    return;
  }
  // In the middle of the cell, scaled to its smaller side.
  const reach = Math.min(wide, high) * (state === FAILED ? 0.24 : 0.18);
  const [x, y] = [left + (wide - 1) / 2, top + (high - 1) / 2];
  const path = state === FAILED ? marks.failed : marks.untried;
  path.moveTo(x - reach, y + reach);
  path.lineTo(x + reach, y - reach);
  if (state === UNTRIED) return;
  path.moveTo(x - reach, y - reach);
  path.lineTo(x + reach, y + reach);
}

// Write the values in the text colour that is readable on each cell.
function write(pen, labels, { inks }) {
  pen.font = SMALL;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const [text, step, x, y] of labels) {
    pen.fillStyle = inks[step];
    pen.fillText(text, x, y);
  }
}

function stroke(pen, path, style, width) {
  pen.strokeStyle = style;
  pen.lineWidth = width;
  pen.stroke(path);
}

// Draw lines between cells in the background colour.
function gaps(pen, { wide, high, left, top, x, y, width, height }, { colours }, visible) {
  pen.fillStyle = colours.surface;
  for (let slot = visible.firstSlot + 1; slot <= visible.lastSlot; slot += 1) {
    pen.fillRect(left + slot * wide - x - 1, top, 1, height);
  }
  for (let row = visible.firstRow + 1; row <= visible.lastRow; row += 1) {
    pen.fillRect(left, top + row * high - y - 1, width, 1);
  }
}

function frame(pen, { wide, high, left, top, x, y }, cell, style, width) {
  if (!cell) return;
  pen.strokeStyle = style;
  pen.lineWidth = width;
  pen.strokeRect(left + cell.slot * wide - x - 0.5, top + cell.row * high - y - 0.5,
    Math.max(wide, 5), Math.max(high, 5));
}

function rowNames(pen, rows, { high, left, top, y, height }, { colours, hover, active }, first, last) {
  pen.save();
  pen.beginPath();
  pen.rect(0, top, left, height);
  pen.clip();
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const named = new Set([hover?.row, active?.row]);
  // The hovered and selected rows come last, so that they cover their neighbours if cells are small.
  const places = [];
  if (high >= NAME_SIZE) for (let place = first; place < last; place += 1) places.push(place);
  for (const place of named) if (place >= first && place < last) places.push(place);
  for (const place of places) {
    const middle = top + place * high + high / 2 - y;
    if (named.has(place)) {
      pen.fillStyle = colours.surface;
      pen.fillRect(0, middle - 8, left, 16);
    }
    pen.fillStyle = named.has(place) ? colours.ink : colours.soft;
    pen.fillText(fitted(pen, rows.shown[place].name, left - 14), left - 8, middle);
  }
  pen.restore();
}

function columnNames(pen, rows, { wide, left, top, x, width }, { colours, hover, active }, first, last) {
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, width, top);
  pen.clip();
  pen.font = FONT;
  pen.textBaseline = "middle";
  const name = (slot) => rows.models[rows.columns[slot]];
  const at = (hover ?? active)?.slot;
  if (wide >= NAME_SIZE) {
    pen.textAlign = "left";
    const stride = Math.ceil(NAME_SPACE / (wide * Math.sin(SLANT)));
    for (let slot = first; slot < last; slot += 1) {
      const middle = left + slot * wide + wide / 2 - x;
      // The selected column always has its name, instead of its neighbours.
      const isShown = at >= first && at < last && Math.abs(slot - at) < stride ? slot === at : slot % stride === 0;
      if (middle < left || !isShown) continue;
      pen.save();
      pen.translate(middle, top - 6);
      pen.rotate(-SLANT);
      pen.fillStyle = slot === at ? colours.ink : colours.soft;
      pen.fillText(fitted(pen, name(slot), nameLength(top)), 0, 0);
      pen.restore();
    }
  } else if (at >= first && at < last) {
    const middle = Math.max(left, left + at * wide + wide / 2 - x);
    const rightHalf = middle > width / 2;
    pen.textAlign = rightHalf ? "right" : "left";
    pen.fillStyle = colours.ink;
    pen.fillText(rightHalf ? `${name(at)} ▾` : `▾ ${name(at)}`, middle + (rightHalf ? 5 : -5), top - 10);
  }
  pen.restore();
}
