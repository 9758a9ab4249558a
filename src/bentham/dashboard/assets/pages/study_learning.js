// The best score of a study over time.

import { chart, quantile, ticks } from "/assets/chart.js";
import { duration, known, plural, score, scoreName, whole } from "/assets/format.js";
import { figure, table } from "/assets/parts.js";
import { toDecision } from "/assets/links.js";

// One score that is far below the others must not flatten the chart: the axis covers at most this many
// times the range of all but the lowest tenth. Scores below it are marked as such at its lower end.
const SPAN = 4;
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200,
  86400, 172800, 604800, 1209600, 2592000];

export function learning() {
  const drawing = chart({
    height: 250, label: "Best score so far over time",
    x: { format: duration, ticks: elapsed }, y: { format: score, tick: short },
  });
  const list = table("Scores over time", [
    { name: "After", value: (line) => line.seconds, show: (line) => duration(line.seconds) },
    { name: "Model", value: (line) => line.model, show: (line) => toDecision(line.trial, line.model) },
    { name: "Score", align: "right", value: (line) => line.score, show: (line) => score(line.score) },
    { name: "Best so far", align: "right", value: (line) => line.best, show: (line) => score(line.best) },
    { name: "Device time used", align: "right", value: (line) => line.device_seconds,
      show: (line) => duration(line.device_seconds) },
  ], { key: (line) => line.trial, empty: "No score yet." });
  const shown = figure("Best so far", drawing.node, { table: list });
  let rows = [];
  shown.details.addEventListener("toggle", () => list.set(shown.details.open ? rows : []));

  return {
    node: shown.node,
    set({ study, record }) {
      rows = record;
      if (shown.details.open) list.set(rows);
      drawing.node.hidden = !record.length;
      const low = record.length ? lowerEnd(record) : 0;
      const sentence = summary(study, record, low);
      shown.summarise(sentence);
      drawing.describe(sentence);
      if (!record.length) return;
      const last = record.at(-1);
      const now = study.state === "open" ? Date.now() / 1000 - study.created : 0;
      const end = Math.max(last.seconds, now);
      const points = (lines, place) => ({ x: lines.map((line) => line.seconds), y: lines.map(place) });
      drawing.set({
        lines: [{
          name: "Best so far", style: "main", steps: true,
          x: [...record.map((line) => line.seconds), end],
          y: [...record.map((line) => line.best), last.best],
        }],
        marks: [
          { style: "second", ...points(record.filter((line) => line.score >= low), (line) => line.score) },
          { style: "second", below: true, ...points(record.filter((line) => line.score < low), () => low) },
        ],
        ends: { x: [0, end], y: [low, null] },
      });
    },
  };
}

function lowerEnd(record) {
  const scores = record.map((line) => line.score);
  const best = record.at(-1).best;
  const usual = Math.min(record[0].best, quantile(scores, 0.1));
  const least = scores.reduce((lowest, value) => Math.min(lowest, value), best);
  return best - least <= SPAN * (best - usual) ? least : usual;
}

function summary(study, record, low) {
  if (!record.length) return "No score yet: no trial has completed.";
  const last = record.at(-1);
  const below = record.filter((line) => line.score < low).length;
  const clipped = below ? ` A triangle at the lower edge is a score below ${score(low)}; there ` +
    `${below === 1 ? "is 1" : `are ${whole(below)}`}.` : "";
  const found = record.find((line) => line.best === last.best);
  return `${score(last.best)} (${scoreName(study)}) is the best of ${plural(record.length, "score")}; ` +
    `${found.model} reached it after ${duration(found.seconds)}. Each circle is a trial's score.${clipped}`;
}

function elapsed(low, high, about) {
  if (high - low < 2) return ticks(low, high, about);
  const step = STEPS.find((each) => (high - low) / each <= about) ?? STEPS.at(-1);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
  return found;
}

const short = (value) => (known(value) ? String(Number(value.toPrecision(4))) : "");
