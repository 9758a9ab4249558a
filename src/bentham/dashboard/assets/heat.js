// A heatmap with scrolling, zoom and keyboard navigation. It is one canvas that stays in place while its
// container scrolls; the drawing follows. To a screen reader it is a grid that contains only the selected
// cell, with its description.

import { fill, h, unique } from "/assets/dom.js";
import { NAME_SIZE, overhang, paint, palette } from "/assets/heat_paint.js";

const WIDTHS = [2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 36, 48, 60];
const MAX_HEIGHT = 28; // maximum height of a cell; wider cells show their value
const MIN_READABLE = 12;

function hint() {
  return h("span", { role: "gridcell" }, "Use the arrow keys to move between cells.");
}

// `describeCell(row, slot)` returns the lines that describe a cell; `open(row)` opens a study;
// `mark(cell)` is called when a cell is selected.
export function heat(rows, { label, describeCell, open, mark, signal }) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const spacer = h("div.spacer", { role: "presentation" }, canvas);
  const spoken = h("div.visually-hidden", { role: "row" }, hint());
  const grid = h("div.heat", { tabindex: "0", role: "grid", "aria-label": label }, spoken, spacer);
  const tip = h("div.tip", { hidden: true });
  const node = h("div.heat-frame", {}, grid, tip);
  const pen = canvas.getContext("2d", { alpha: false });
  const view = { width: 0, height: 0, left: 0, top: 0, x: 0, y: 0, wide: 0, high: 0 };
  const display = { kind: "observed", log: false, ends: null, show: String, colours: null, active: null, hover: null };
  let planned = 0;
  let sized = false; // whether the user chose the size of cells

  function plan() {
    if (!planned) planned = requestAnimationFrame(draw);
  }

  function draw() {
    planned = 0;
    if (signal.aborted || !view.width) return;
    display.colours ??= palette();
    view.x = grid.scrollLeft;
    view.y = grid.scrollTop;
    const ratio = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) {
      canvas.width = wide;
      canvas.height = high;
      canvas.style.width = `${view.width}px`;
      canvas.style.height = `${view.height}px`;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(pen, rows, view, display);
  }

  // Compute the layout: the size of all cells, and where they begin.
  function updateLayout() {
    const width = node.clientWidth;
    if (!width) return;
    const narrow = width < 600;
    view.left = narrow ? 92 : 190;
    if (!sized) view.wide = fittingWidth(width);
    view.high = Math.min(view.wide, MAX_HEIGHT);
    view.top = view.wide >= NAME_SIZE ? topFor(width) : 26;
    const maxHeight = Math.max(240, Math.round(window.innerHeight * (narrow ? 0.62 : 0.68)));
    const all = view.top + rows.shown.length * view.high + 16;
    // The scroll bar needs space if the browser does not draw it over the content.
    grid.style.height = `${Math.min(maxHeight, all)}px`;
    // If all cells fit there is nothing to scroll.
    spacer.style.width = `${view.left + rows.columns.length * view.wide + Math.max(2, overhang(view.wide, view.top))}px`;
    spacer.style.height = `${Math.max(0, all - 16 + 2)}px`;
    view.width = grid.clientWidth;
    view.height = grid.clientHeight;
    plan();
  }

  const topFor = (width) => (width < 600 ? 84 : 104);

  function fittingWidth(width, smallest = MIN_READABLE) {
    const each = (names) => Math.max(smallest, Math.min(WIDTHS.at(-1),
      Math.floor((width - view.left - 18 - names) / Math.max(1, rows.columns.length))));
    return each(overhang(each(0), topFor(width)));
  }

  function resize(next) {
    // The cell in the middle stays there.
    const middle = [(view.x + (view.width - view.left) / 2) / view.wide,
      (view.y + (view.height - view.top) / 2) / view.high];
    sized = true;
    view.wide = next;
    updateLayout();
    grid.scrollLeft = middle[0] * view.wide - (view.width - view.left) / 2;
    grid.scrollTop = middle[1] * view.high - (view.height - view.top) / 2;
  }

  // -- by pointer

  function cellAt(event) {
    const box = grid.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    if (top < view.top || left >= view.width || top >= view.height) return null;
    const row = Math.floor((top - view.top + view.y) / view.high);
    if (row >= rows.shown.length) return null;
    if (left < view.left) return { row, slot: null };
    const slot = Math.floor((left - view.left + view.x) / view.wide);
    return slot < rows.columns.length ? { row, slot } : null;
  }

  function hover(cell) {
    const on = cell !== null && cell.slot !== null ? cell : null;
    grid.style.cursor = cell === null ? "" : cell.slot === null ? "pointer" : "crosshair";
    if (on?.row === display.hover?.row && on?.slot === display.hover?.slot) return;
    display.hover = on;
    showTip(on ?? (document.activeElement === grid ? display.active : null));
    plan();
  }

  grid.addEventListener("pointermove", (event) => event.pointerType !== "touch" && hover(cellAt(event)));
  grid.addEventListener("pointerleave", () => hover(null));
  grid.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell === null) return;
    if (cell.slot === null) open(rows.shown[cell.row]);
    else move(cell);
  });
  grid.addEventListener("dblclick", (event) => {
    const cell = cellAt(event);
    if (cell !== null) open(rows.shown[cell.row]);
  });
  grid.addEventListener("scroll", () => {
    hover(null);
    if (!display.hover) showTip(null);
    plan();
  }, { passive: true });

  // -- by keyboard

  const STEPS = {
    ArrowUp: () => [-1, 0],
    ArrowDown: () => [1, 0],
    ArrowLeft: () => [0, -1],
    ArrowRight: () => [0, 1],
    PageUp: () => [-Math.floor((view.height - view.top) / view.high), 0],
    PageDown: () => [Math.floor((view.height - view.top) / view.high), 0],
    Home: (event) => [event.ctrlKey ? -Infinity : 0, -Infinity],
    End: (event) => [event.ctrlKey ? Infinity : 0, Infinity],
  };

  grid.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || !rows.shown.length) return;
    if (event.key === "Enter" && display.active) return open(rows.shown[display.active.row]);
    if (event.key === "Escape") return showTip(null);
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    const [down, along] = STEPS[event.key](event);
    const at = display.active ?? { row: 0, slot: 0 };
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    move(display.active === null ? at : {
      row: within(at.row + down, rows.shown.length),
      slot: within(at.slot + along, rows.columns.length),
    });
  });
  grid.addEventListener("focus", () => {
    if (!grid.matches(":focus-visible") || !rows.shown.length) return;
    move(display.active ?? { row: 0, slot: 0 });
  });
  grid.addEventListener("blur", () => showTip(null));

  // Select a cell, scroll it into view and announce it.
  function move(cell) {
    display.active = cell;
    display.hover = null;
    const { wide, high, left, top, width, height } = view;
    const into = (at, size, scrolled, length) =>
      Math.min(at * size, Math.max(scrolled, (at + 1) * size - length));
    grid.scrollTop = into(cell.row, high, grid.scrollTop, height - top);
    grid.scrollLeft = into(cell.slot, wide, grid.scrollLeft, width - left);
    announce();
    mark(cell);
    plan();
    // After scrolling, which hides the tooltip.
    requestAnimationFrame(() => requestAnimationFrame(() => display.hover ?? showTip(display.active)));
  }

  function announce() {
    const { row, slot } = display.active;
    const id = unique("cell");
    spoken.setAttribute("aria-rowindex", row + 1);
    fill(spoken, h("span", { role: "gridcell", id, "aria-colindex": slot + 1 }, describeCell(row, slot).join(", ")));
    grid.setAttribute("aria-activedescendant", id);
  }

  function showTip(cell) {
    if (cell === null || cell.row >= rows.shown.length || cell.slot >= rows.columns.length) {
      tip.hidden = true;
      return;
    }
    const { wide, high, left, top } = view;
    const [x, y] = [left + (cell.slot + 1) * wide - grid.scrollLeft, top + (cell.row + 1) * high - grid.scrollTop];
    const [first, ...rest] = describeCell(cell.row, cell.slot);
    fill(tip, h("strong", {}, first), rest.map((line) => h("span", {}, line)));
    tip.hidden = false;
    const rightHalf = x > view.width / 2;
    const low = y > view.height * 0.6;
    tip.style.left = rightHalf ? "auto" : `${x + 8}px`;
    tip.style.right = rightHalf ? `${node.clientWidth - x + wide + 8}px` : "auto";
    tip.style.top = low ? "auto" : `${y + 4}px`;
    tip.style.bottom = low ? `${node.clientHeight - y + high + 4}px` : "auto";
  }

  const observer = new ResizeObserver(updateLayout);
  observer.observe(node);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
  document.addEventListener("themechange", () => {
    display.colours = null;
    plan();
  }, { signal });

  return {
    node,
    grid,
    display,
    // Rows were added, removed or reordered; the selection stays on its study.
    renew(selected = null) {
      grid.setAttribute("aria-rowcount", rows.shown.length);
      grid.setAttribute("aria-colcount", rows.columns.length);
      display.hover = null;
      if (display.active !== null) {
        const row = selected === null ? -1 : rows.shown.findIndex((each) => each.study === selected.study);
        display.active = row < 0 ? null : { row, slot: Math.min(selected.slot, rows.columns.length - 1) };
        if (display.active === null) {
          grid.removeAttribute("aria-activedescendant");
          fill(spoken, hint());
          showTip(null);
        }
      }
      updateLayout();
    },
    plan,
    zoom(way) {
      if (way === 0) {
        view.left = node.clientWidth < 600 ? 92 : 190;
        resize(fittingWidth(node.clientWidth, WIDTHS[0]));
      } else {
        const next = way > 0 ? WIDTHS.find((each) => each > view.wide)
          : WIDTHS.findLast((each) => each < view.wide);
        if (next !== undefined) resize(next);
      }
      return view.wide;
    },
    // The rows in view, first to last.
    visibleRows: () => rows.shown.slice(Math.floor(view.y / (view.high || 1)),
      Math.ceil((view.y + view.height - view.top) / (view.high || 1))),
  };
}
