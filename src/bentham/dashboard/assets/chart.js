// Line charts with steps, bands and a faint line for comparison. They are SVG, so the style sheet sets
// the colours and they are sharp at any size.

import { fill, h, s } from "/assets/dom.js";

const MARGIN = { top: 10, right: 14, bottom: 26, left: 54 };
const NOTCH = 8; // pixels
const LABEL_ROW = 15; // above the chart, for the name of a vertical guide

// About `about` round numbers between two ends.
export function ticks(low, high, about) {
  if (!(high > low)) return [low];
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  }
  return found;
}

// The values 1, 2 and 5 times a power of ten between two ends; fewer if they span many powers.
export function logTicks(low, high) {
  const powers = Math.log10(high / low);
  const steps = powers > 4 ? [1] : powers > 2 ? [1, 3] : [1, 2, 5];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    for (const step of steps) found.push(step * 10 ** power);
  }
  return found.filter((each) => each >= low * (1 - 1e-9) && each <= high * (1 + 1e-9));
}

// The value below which this share of the values lies.
export function quantile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(share * (sorted.length - 1))];
}

// Round times: steps of whole minutes, hours and days.
export function timeTicks(low, high, about) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 604800];
  const step = steps.find((each) => (high - low) / each <= about) ?? 2592000;
  const shift = new Date(1000 * low).getTimezoneOffset() * 60;
  const found = [];
  for (let at = Math.ceil((low - shift) / step) * step + shift; at <= high; at += step) found.push(at);
  return found;
}

// A chart. `x` and `y`: { format, label, ticks, log }. Then set({ lines, bands, marks, ends }):
//   lines  [{ name, style, x: [], y: [], steps }]      style: main, faint, second
//   bands  [{ style, x: [], low: [], high: [], steps }]
//   marks  [{ style, x: [], y: [], below }]            circles; with below, triangles that point down
//   guides [{ x or y, name }]                          a line across the chart at a value
//   notches [x]                                        short lines above the horizontal axis
//   ends   { x: [low, high], y: [low, high] }          values that the axes must include
export function chart({ height = 260, x, y, label }) {
  const drawing = s("svg", { role: "img", "aria-label": label, height });
  const tip = h("div.tip", { hidden: true });
  const legend = h("ul.legend");
  const node = h("div.chart", {}, legend, h("div.canvas", {}, drawing, tip));
  let data = null;
  let width = 0;
  let scales = null;

  function draw() {
    if (data === null || width === 0) return;
    const top = MARGIN.top + LABEL_ROW * data.guides.filter((guide) => guide.x !== undefined).length;
    const inner = { top, width: width - MARGIN.left - MARGIN.right, height: height - top - MARGIN.bottom };
    const at = (axis) => data.guides.map((guide) => guide[axis]).filter((each) => each !== undefined);
    const xs = extent([...[...data.lines, ...data.bands, ...data.marks].map((each) => each.x), at("x")],
      data.ends?.x);
    const ys = extent(
      [...data.lines.map((each) => each.y), ...data.marks.map((each) => each.y),
        ...data.bands.flatMap((each) => [each.low, each.high]), at("y")],
      data.ends?.y,
    );
    scales = { x: scale(xs, MARGIN.left, inner.width, x.log), y: scale(ys, top + inner.height, -inner.height, y.log) };
    drawing.setAttribute("width", width);
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    fill(
      drawing,
      grid(scales, x, y, width, inner),
      data.bands.map((band) => s(`path.band.${band.style}`, { d: bandPath(band, scales) })),
      data.lines.map((line) => s(`path.line.${line.style}`, { d: linePath(line, scales) })),
      data.guides.map((guide, place) => guideLine(guide, place, scales, width, inner)),
      data.notches.map((value) => s("line.notch", { x1: scales.x(value), x2: scales.x(value),
        y1: top + inner.height, y2: top + inner.height - NOTCH })),
      data.marks.map((marks) => s(`g.marks.${marks.style}`, {}, marks.x.map((at, place) =>
        markAt(scales.x(at), scales.y(marks.y[place]), marks.below)))),
      s("line.cross", { y1: top, y2: top + inner.height, visibility: "hidden" }),
    );
    fill(legend, data.lines.filter((line) => line.name).map((line) =>
      h(`li.${line.style}`, {}, line.name)));
  }

  function point(event) {
    if (scales === null) return;
    const box = drawing.getBoundingClientRect();
    const at = scales.x.inverse(event.clientX - box.left);
    const found = data.lines.filter((line) => line.name && line.x.length).map((line) => {
      let place = line.x.findIndex((each) => each > at) - 1;
      if (place === -2) place = line.x.length - 1;
      place = Math.max(0, place);
      if (!line.steps && place + 1 < line.x.length &&
        Math.abs(line.x[place + 1] - at) < Math.abs(line.x[place] - at)) place += 1;
      return [line.name, line.y[place], line.x[place], line.steps];
    });
    if (!found.length) return;
    const shownAt = found[0][3] ? at : found[0][2];
    const cross = drawing.querySelector(".cross");
    const left = scales.x(shownAt);
    if (left < MARGIN.left || left > width - MARGIN.right + 1) return hide();
    cross.setAttribute("x1", left);
    cross.setAttribute("x2", left);
    cross.setAttribute("visibility", "visible");
    fill(tip, h("strong", {}, x.format(shownAt)),
      found.map(([name, value]) => h("span", {}, `${name}: ${y.format(value)}`)));
    tip.hidden = false;
    const side = left > width / 2;
    tip.style.left = side ? "auto" : `${left + 10}px`;
    tip.style.right = side ? `${width - left + 10}px` : "auto";
  }

  function hide() {
    tip.hidden = true;
    drawing.querySelector(".cross")?.setAttribute("visibility", "hidden");
  }

  drawing.addEventListener("pointermove", point);
  drawing.addEventListener("pointerleave", hide);
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width) return;
    width = now;
    draw();
  }).observe(node);

  return {
    node,
    set(next) {
      data = { bands: [], marks: [], guides: [], notches: [], ...next };
      draw();
    },
    describe: (text) => drawing.setAttribute("aria-label", text),
  };
}

function extent(columns, ends = []) {
  let low = Infinity;
  let high = -Infinity;
  for (const column of [...columns, ends.filter((end) => end !== null && end !== undefined)]) {
    for (const value of column) {
      if (value === null || !Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return [0, 1];
  if (low === high) return [low - Math.abs(low || 1) * 0.05, high + Math.abs(high || 1) * 0.05];
  return [low, high];
}

function scale([low, high], start, length, log) {
  const forward = log ? Math.log : (value) => value;
  const back = log ? Math.exp : (value) => value;
  const [first, last] = [forward(low), forward(high)];
  const to = (value) => start + (length * (forward(value) - first)) / (last - first);
  to.inverse = (at) => back(first + ((at - start) / length) * (last - first));
  to.ends = [low, high];
  return to;
}

function grid(scales, x, y, width, inner) {
  const bottom = inner.top + inner.height;
  const across = (y.ticks ?? ticks)(...scales.y.ends, Math.max(2, inner.height / 50));
  const along = (x.ticks ?? ticks)(...scales.x.ends, Math.max(2, inner.width / 90));
  return [
    across.map((value) => s("line.grid", {
      x1: MARGIN.left, x2: width - MARGIN.right, y1: scales.y(value), y2: scales.y(value) })),
    across.map((value) => s("text.tick", {
      x: MARGIN.left - 8, y: scales.y(value) + 4, "text-anchor": "end" }, y.tick?.(value) ?? y.format(value))),
    along.map((value) => s("text.tick", {
      x: scales.x(value), y: bottom + 18, "text-anchor": "middle" }, x.tick?.(value) ?? x.format(value))),
    s("line.axis", { x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
  ];
}

function markAt(left, top, below = false) {
  if (!below) return s("circle", { cx: left, cy: top, r: 3.5 });
  return s("path", { d: `M${(left - 4.5).toFixed(1)} ${(top - 7).toFixed(1)}h9l-4.5 7Z` });
}

function guideLine({ x, y, name }, place, scales, width, inner) {
  const [bottom, right] = [inner.top + inner.height, width - MARGIN.right];
  if (x === undefined) {
    const at = scales.y(y);
    return [s("line.guide", { x1: MARGIN.left, x2: right, y1: at, y2: at }),
      s("text.guide", { x: right, y: at - 5, "text-anchor": "end" }, name)];
  }
  const at = scales.x(x);
  const late = at > width / 2;
  const row = MARGIN.top + LABEL_ROW * place;
  return [s("line.guide", { x1: at, x2: at, y1: row - 8, y2: bottom }),
    s("text.guide", { x: at + (late ? -5 : 5), y: row + 2, "text-anchor": late ? "end" : "start" }, name)];
}

function linePath(line, scales) {
  let path = "";
  let pen = false;
  line.x.forEach((at, place) => {
    const value = line.y[place];
    if (value === null || !Number.isFinite(value)) {
      pen = false;
      return;
    }
    const [left, top] = [scales.x(at).toFixed(1), scales.y(value).toFixed(1)];
    if (!pen) path += `M${left} ${top}`;
    else if (line.steps) path += `H${left}V${top}`;
    else path += `L${left} ${top}`;
    pen = true;
  });
  return path;
}

// A band breaks where one of its ends is unknown.
function bandPath(band, scales) {
  const runs = [[]];
  band.x.forEach((_, place) => {
    const isKnown = Number.isFinite(band.low[place] ?? NaN) && Number.isFinite(band.high[place] ?? NaN);
    if (isKnown) runs.at(-1).push(place);
    else if (runs.at(-1).length) runs.push([]);
  });
  return runs.filter((run) => run.length > 1).map((run) => bandPart(band, run, scales)).join("");
}

function bandPart(band, places, scales) {
  const over = places.map((place) => [scales.x(band.x[place]), scales.y(band.high[place])]);
  const under = places.map((place) => [scales.x(band.x[place]), scales.y(band.low[place])]);
  const corner = (points) => {
    if (!band.steps) return points;
    // A step lasts until the next one begins.
    return points.flatMap(([left, top], place) =>
      place === 0 ? [[left, top]] : [[left, points[place - 1][1]], [left, top]]);
  };
  const points = [...corner(over), ...corner(under).reverse()];
  return `M${points.map(([left, top]) => `${left.toFixed(1)} ${top.toFixed(1)}`).join("L")}Z`;
}
