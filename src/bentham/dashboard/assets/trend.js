// The figure of mean regret over time.

import { chart, logTicks, timeTicks } from "/assets/chart.js";
import { h } from "/assets/dom.js";
import { clock, known, number, whole } from "/assets/format.js";
import { figure, table } from "/assets/parts.js";

// The vertical axis is logarithmic, so that the last hour is legible after a high start. It covers at
// most this factor; smaller values are drawn at its lower end.
const SPAN = 1000;

export function trendFigure(admin) {
  const lines = chart({
    label: "Mean regret over time (estimate)",
    x: { format: (time) => clock(time), tick: (time) => clock(time, time % 60 !== 0), ticks: timeTicks },
    y: { format: (value) => number(value), ticks: logTicks, log: true },
  });
  const columns = [
    { name: "Time", show: ([time]) => clock(time) },
    { name: "Mean regret", align: "right", show: (row) => number(row[1]) },
    { name: "Low", align: "right", show: (row) => number(row[2]) },
    { name: "High", align: "right", show: (row) => number(row[3]) },
    { name: "Open studies", align: "right", show: (row) => whole(row[4]) },
  ];
  if (admin) {
    columns.push({ name: "Round robin", align: "right", show: (row) => number(row[5]) });
  }
  const rows = table("Mean regret over time (estimate)", columns, { key: ([time]) => time });
  const shown = figure("Mean regret over time", lines.node, {
    extras: h("span.estimate", {
      title: "A study's best score is unknown until all its models have been tried, so it is estimated.",
    }, "estimate"),
    table: rows,
  });
  let last = null;

  function list() {
    if (!shown.details.open || last === null) return;
    const step = Math.max(1, Math.ceil(last.times.length / 50));
    const places = last.times.map((_, place) => place).filter((place) => place % step === 0);
    rows.set(places.map((place) => [last.times[place], last.regret[place], last.low[place],
      last.high[place], last.studies[place], last.roundRobin?.[place] ?? null]));
  }
  shown.details.addEventListener("toggle", list);

  return {
    node: shown.node,
    set(found) {
      last = withoutEmpty(found);
      const { times, regret, low, high, studies, roundRobin } = last;
      const ends = endsOf([...regret, ...high, ...(roundRobin ?? [])]);
      const drawn = (values) => values.map((value) => (value === null ? null : Math.max(value, ends[0])));
      lines.node.hidden = !regret.some(known);
      lines.set({
        lines: [
          ...(roundRobin ? [{ name: "Round robin with the same trials", style: "faint", x: times, y: drawn(roundRobin) }] : []),
          { name: "Mean regret (estimate, 80 % band)", style: "main", x: times, y: drawn(regret) },
        ],
        bands: [{ style: "main", x: times, low: drawn(low), high: drawn(high) }],
        notches: times.filter((_, place) => place > 0 && studies[place] > studies[place - 1]),
        ends: { y: ends },
      });
      const text = summary(last, ends);
      shown.summarise(text);
      lines.describe(text);
      list();
    },
  };
}

// While no study was open, there was no regret.
function withoutEmpty({ times, studies, round_robin: roundRobin, ...found }) {
  const kept = (values) => values.map((value, place) => (studies[place] ? value : null));
  return {
    times, studies, regret: kept(found.regret), low: kept(found.low), high: kept(found.high),
    roundRobin: roundRobin && kept(roundRobin),
  };
}

// The ends of the vertical axis.
function endsOf(values) {
  const positive = values.filter((value) => known(value) && value > 0);
  const high = positive.reduce((most, value) => Math.max(most, value), 0) || 1;
  const least = positive.reduce((lowest, value) => Math.min(lowest, value), high);
  return [Math.max(0.9 * least, high / SPAN), high];
}

function summary({ times, regret, low, high, studies, roundRobin }, [floor]) {
  const end = times.length - 1;
  const first = regret.findIndex(known);
  if (first < 0) return "No study was open in this time range.";
  const rises = studies.some((count, place) => place > 0 && count > studies[place - 1]);
  return [
    known(regret[end])
      ? `The best scores of open studies are now an estimated ${number(regret[end])} below what their ` +
        `models are expected to reach (80 % band ${number(low[end])} to ${number(high[end])}); ` +
        `at ${clock(times[first], false)} it was ${number(regret[first])}.`
      : "No study is open now.",
    roundRobin && known(roundRobin[end]) &&
      `With the same trials, round robin would be at ${number(roundRobin[end])}.`,
    rises && "The line rises when studies are created (short lines at the bottom), because each starts at its baseline; " +
      "it also moves when one closes, because only open studies count.",
    `The scale is logarithmic; values below ${number(floor, 1)} are drawn at its lower end.`,
  ].filter(Boolean).join(" ");
}
