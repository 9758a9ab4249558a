// The trials of each device over time. Drawn on a canvas, since there may be thousands of trials.

import { timeTicks } from "/assets/chart.js";
import { address, fill, h } from "/assets/dom.js";
import { fitted } from "/assets/fitted.js";
import { clock, duration, score } from "/assets/format.js";
import { colour } from "/assets/theme.js";

const COLOURS = 8;
const MAX_TRIALS = 5000;
const AXIS = 24;
const AWAY_WIDTH = 34;
const MIN_SECONDS = 30; // shortest time range
const FUTURE_SHARE = 0.08; // share of the width for the future, where running trials are expected to end

export function timeline({ colourBy, say, now, signal }) {
  const canvas = h("canvas", {
    tabindex: "0", role: "img", "aria-label": "Device timeline",
    "aria-describedby": "timeline-keys",
  });
  const tip = h("div.tip", { hidden: true });
  const legend = h("ul.legend");
  const keys = h("p.visually-hidden", { id: "timeline-keys" },
    "Arrow keys move between trials and devices; Enter opens the decision.");
  const node = h("div.chart", {}, legend, h("div.canvas", {}, canvas, tip), keys);
  const trials = new Map();
  const groups = new Map(); // name of a group -> number of its colour
  let devices = [];
  let away = new Set(); // names of devices
  let seconds = 3600;
  let width = 0;
  let chosen = null;
  let cut = false; // whether trials were dropped because there were too many
  let layout = null; // the layout of the latest drawing

  function computeLayout() {
    const gutter = (width < 500 ? 64 : 120) + (away.size ? AWAY_WIDTH : 0);
    const row = Math.max(7, Math.min(24, 460 / Math.max(1, devices.length)));
    const end = now();
    // As far back as requested, but not before the first trial.
    let first = end - MIN_SECONDS;
    for (const trial of trials.values()) first = Math.min(first, trial.started);
    const from = Math.max(end - seconds, first);
    const to = end + (end - from) * FUTURE_SHARE;
    const scale = (width - gutter) / (to - from);
    const rows = new Map(devices.map((name, place) => [name, place]));
    const x = (time) => gutter + (time - from) * scale;
    return { gutter, row, from, to, end, x, rows, height: row * Math.max(1, devices.length) + AXIS };
  }

  function draw() {
    if (width === 0) return;
    layout = computeLayout();
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(layout.height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(layout.height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${layout.height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, layout.height);
    drawBackground(pen, layout, devices, away, width);
    pen.save();
    pen.beginPath();
    pen.rect(layout.gutter, 0, width - layout.gutter, layout.height - AXIS);
    pen.clip();
    for (const trial of trials.values()) drawTrial(pen, layout, trial, groups.get(colourBy(trial)) ?? 0);
    if (chosen && trials.has(chosen)) outline(pen, layout, trials.get(chosen));
    pen.restore();
  }

  function prune() {
    const since = now() - seconds;
    for (const [id, trial] of trials) {
      if (trial.ended !== null && trial.ended < since) trials.delete(id);
    }
    // Drop the oldest first: a Map keeps insertion order. Running trials are always shown.
    for (const [id, trial] of trials) {
      if (trials.size <= MAX_TRIALS) break;
      if (trial.ended !== null) cut = trials.delete(id);
    }
  }

  function group(trial) {
    const name = colourBy(trial);
    if (!groups.has(name)) {
      groups.set(name, groups.size % COLOURS);
      drawLegend();
    }
  }

  function drawLegend() {
    const names = [...groups].slice(0, COLOURS);
    fill(legend, names.map(([name, place]) => {
      const item = h("li.block", {}, h("span", {}, name));
      item.style.color = `var(--who-${place})`;
      item.firstChild.style.color = "var(--soft)";
      return item;
    }), groups.size > COLOURS && h("li.more", {}, `and ${groups.size - COLOURS} more`));
  }

  function at(event) {
    if (layout === null) return null;
    const box = canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const device = devices[Math.floor(top / layout.row)];
    let found = null;
    for (const trial of trials.values()) {
      if (trial.device !== device) continue;
      const [start, end] = [layout.x(trial.started), layout.x(shownEnd(trial, layout.end))];
      if (left >= start - 2 && left <= Math.max(end, start + 2) + 1) found = trial;
    }
    return found;
  }

  function show(trial, left, top) {
    if (trial === null) {
      tip.hidden = true;
      return;
    }
    fill(tip, h("strong", {}, trial.model), description(trial).map((line) => h("span", {}, line)));
    tip.hidden = false;
    const side = left > width / 2;
    tip.style.left = side ? "auto" : `${left + 12}px`;
    tip.style.right = side ? `${width - left + 12}px` : "auto";
    tip.style.top = `${Math.min(top + 12, Math.max(0, layout.height - 90))}px`;
  }

  function move(rows, places) {
    const order = [...trials.values()].sort((one, other) => one.started - other.started);
    if (!order.length) return;
    const current = trials.get(chosen) ?? order[order.length - 1];
    let next = current;
    if (rows) {
      const place = devices.indexOf(current.device) + rows;
      const near = order.filter((trial) => trial.device === devices[place]);
      const gap = (trial) => Math.abs(trial.started - current.started);
      next = near.length ? near.reduce((a, b) => (gap(b) < gap(a) ? b : a)) : current;
    } else if (chosen !== null) {
      const same = order.filter((trial) => trial.device === current.device);
      next = same[same.indexOf(current) + places] ?? current;
    }
    chosen = next.id;
    draw();
    show(next, layout.x(next.started), layout.row * (devices.indexOf(next.device) + 1));
    say(`${next.model}, ${description(next).join(", ")}`);
  }

  canvas.addEventListener("pointermove", (event) => {
    const trial = at(event);
    canvas.style.cursor = trial ? "pointer" : "default";
    const box = canvas.getBoundingClientRect();
    show(trial, event.clientX - box.left, event.clientY - box.top);
  });
  canvas.addEventListener("pointerleave", () => show(null));
  canvas.addEventListener("blur", () => {
    chosen = null;
    show(null);
    draw();
  });
  canvas.addEventListener("click", (event) => {
    const trial = at(event);
    if (trial) location.hash = address("decisions", trial.id);
  });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key === "Enter" && chosen) location.hash = address("decisions", chosen);
    else if (steps[event.key]) move(...steps[event.key]);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    draw();
  }).observe(node);
  document.addEventListener("themechange", draw, { signal });

  return {
    node,
    trials,
    cut: () => cut,
    away: () => [...away],
    draw() {
      prune();
      draw();
    },
    // Replace all trials with those of a response.
    set(response, range) {
      seconds = range;
      trials.clear();
      cut = false;
      for (const trial of response.trials.toReversed()) { // the response is newest first
        trials.set(trial.id, trial);
        group(trial);
      }
      away = new Set(response.devices.filter((device) => device.away).map((device) => device.name));
      this.devices(response.devices.map((device) => device.name));
    },
    // Add or update a trial that began or ended.
    put(trial) {
      trials.set(trial.id, { ...trials.get(trial.id), ...trial });
      group(trials.get(trial.id));
      if (!devices.includes(trial.device)) this.devices([...devices, trial.device]);
    },
    devices(names) {
      const used = new Set([...trials.values()].map((trial) => trial.device));
      devices = [...new Set([...names, ...used])].sort((one, other) =>
        one.localeCompare(other, "en", { numeric: true }));
      draw();
    },
    describe: (text) => canvas.setAttribute("aria-label", text),
  };
}

function shownEnd(trial, now) {
  return trial.ended ?? Math.max(now, trial.started + trial.cost);
}

function description(trial) {
  const lines = [`for ${trial.name ?? trial.study}${trial.tenant ? ` (${trial.tenant})` : ""}`];
  lines.push(`on ${trial.device}, started ${clock(trial.started)}`);
  if (trial.state === "running") lines.push(`running; expected to take ${duration(trial.cost)}`);
  else {
    const took = duration(trial.ended - trial.started);
    lines.push(`${trial.state} after ${took}; expected ${duration(trial.cost)}`);
  }
  if (trial.score !== null && trial.score !== undefined) lines.push(`score ${score(trial.score)}`);
  if (trial.reason) lines.push(trial.reason.slice(0, 120));
  return lines;
}

function drawBackground(pen, layout, devices, away, width) {
  const { gutter, row, x, from, to, end, height } = layout;
  const bottom = height - AXIS;
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const labelStride = Math.ceil(13 / row);
  devices.forEach((name, place) => {
    if (place % 2) {
      pen.fillStyle = colour("raised");
      pen.fillRect(gutter, place * row, width - gutter, row);
    }
    if (place % labelStride) return;
    pen.fillStyle = colour("soft");
    pen.textAlign = "left";
    const space = gutter - 8 - (away.size ? AWAY_WIDTH : 0);
    pen.fillText(fitted(pen, name, space), 0, (place + 0.5) * row);
    if (!away.has(name)) return;
    pen.fillStyle = colour("warn");
    pen.fillText("away", space + 4, (place + 0.5) * row);
  });
  pen.textAlign = "center";
  for (const time of timeTicks(from, to, Math.max(2, (width - gutter) / 100))) {
    pen.fillStyle = colour("grid");
    pen.fillRect(x(time), 0, 1, bottom);
    pen.fillStyle = colour("soft");
    if (x(time) > gutter + 20 && x(time) < width - 24) {
      pen.fillText(clock(time, to - from < 1200), x(time), bottom + 14);
    }
  }
  pen.fillStyle = colour("faint");
  pen.fillRect(x(end), 0, 1.5, bottom);
}

function drawTrial(pen, layout, trial, place) {
  const { row, x, end, rows } = layout;
  const line = rows.get(trial.device);
  if (line === undefined) return;
  const [top, high] = [line * row + 1, row - 2];
  const left = x(trial.started);
  const right = x(trial.ended ?? end);
  const long = Math.max(1.5, right - left - 0.5);
  const shade = colour(`who-${place}`);
  if (trial.state === "failed" || trial.state === "lost") {
    const sign = colour(trial.state === "failed" ? "bad" : "warn");
    pen.globalAlpha = 0.28;
    pen.fillStyle = sign;
    pen.fillRect(left, top, long, high);
    pen.globalAlpha = 1;
    pen.fillRect(left + long - 3, top, 3, high);
    if (long > 14 && high > 9) {
      pen.textAlign = "center";
      pen.fillText(trial.state === "failed" ? "✕" : "?", left + long / 2, top + high / 2);
    }
    return;
  }
  pen.fillStyle = shade;
  pen.globalAlpha = trial.state === "running" ? 0.55 : 0.88;
  pen.fillRect(left, top, long, high);
  if (trial.state === "running") {
    const expected = x(Math.max(end, trial.started + trial.cost));
    pen.globalAlpha = 0.2;
    pen.fillRect(right, top, Math.max(0, expected - right), high);
    pen.globalAlpha = 1;
    pen.fillRect(expected - 1.5, top, 1.5, high);
  }
  pen.globalAlpha = 1;
  if (long > 60 && high >= 12) {
    pen.fillStyle = colour("surface");
    pen.textAlign = "left";
    pen.fillText(fitted(pen, trial.model, long - 8), left + 4, top + high / 2 + 0.5);
  }
}

function outline(pen, layout, trial) {
  const top = layout.rows.get(trial.device) * layout.row;
  const [left, right] = [layout.x(trial.started), layout.x(shownEnd(trial, layout.end))];
  pen.strokeStyle = colour("ink");
  pen.lineWidth = 2;
  pen.strokeRect(left, top + 1, Math.max(3, right - left), layout.row - 2);
}
