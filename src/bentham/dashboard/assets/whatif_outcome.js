// One simulation: its progress, its answer, and its two charts.

import { chart, ticks } from "/assets/chart.js";
import { fill, h } from "/assets/dom.js";
import { clock, duration, known, percent } from "/assets/format.js";
import { badge, figure, notice, table } from "/assets/parts.js";
import { savePicture } from "/assets/picture.js";
import {
  POLICIES, alreadyReached, answerOf, describeCurves, describeTimes, devicesOf, more, question, range, regret, sentence,
} from "/assets/whatif_words.js";

const STYLES = { bentham: "main", "round-robin": "second" };
const LOG_FACTOR = 12; // times that differ by a larger factor get a logarithmic axis
const DOUBLES = [1, 2, 4, 8, 16, 32, 64];
const MARKS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000, 86400, 172800, 432000,
  864000, 2592000, 7776000];

export function outcome(first, cancel) {
  const answer = h("p.whatif-answer");
  const conclusions = h("ul.whatif-more");
  const notes = h("ul.whatif-notes");
  const state = h("span");
  const bar = h("progress", { max: 1, "aria-label": "Progress of the simulation" });
  const share = h("span.quiet");
  const stop = h("button.danger", { type: "button", onclick: async () => {
    stop.disabled = true;
    await cancel().catch((error) => fill(message, notice("bad", error.message)));
    stop.disabled = false;
  } }, "Cancel");
  const message = h("div");
  const running = h("div.whatif-running", {}, bar, share, stop);
  const times = timesFigure();
  const curves = curvesFigure(first);
  const saveButton = h("button", { type: "button", onclick: () => download(latest, times, curves) }, "Save the picture (SVG)");
  const printButton = h("button", { type: "button", onclick: () => window.print() }, "Print");
  const charts = h("div.columns", {}, times.node, curves.node);
  let latest = first;

  const node = h("div.form", {},
    h("section.panel", { "aria-label": "The answer" },
      h("div.heading", {}, h("h2", {}, "The answer"), h("div.extras", {}, state, saveButton, printButton)),
      message, running, answer, conclusions, notes),
    charts);

  return {
    node,
    set(run) {
      latest = run;
      const hasAnswers = run.answers.length > 0;
      fill(state, badge(run.state));
      fill(message, problem(run));
      running.hidden = run.state !== "waiting" && run.state !== "running";
      bar.value = run.progress;
      share.textContent = run.state === "waiting" ? "Waiting for another simulation to end"
        : hasAnswers ? `${percent(run.progress)}, ${run.simulated} of ${run.draws} draws; the answer improves with each`
          : "Reading the studies and drawing the first scores …";
      answer.textContent = hasAnswers ? sentence(run) : question(run);
      fill(conclusions, more(run).map((line) => h("li", {}, line)));
      fill(notes, h("li", {}, basis(run)), run.notes.map((line) => h("li", {}, line)));
      notes.hidden = !hasAnswers;
      charts.hidden = saveButton.hidden = printButton.hidden = !hasAnswers || alreadyReached(run);
      if (charts.hidden) return;
      times.set(run);
      curves.set(run);
    },
  };
}

function problem(run) {
  if (run.state === "failed") return notice("bad", `The simulation failed: ${run.reason}`);
  if (run.state === "cancelled") {
    return notice("warn", "The simulation was cancelled",
      run.answers.length ? "; the results so far are below." : " before it had any results.");
  }
  return null;
}

function basis(run) {
  const draws = run.simulated < run.draws ? `${run.simulated} of ${run.draws} draws` : `${run.draws} draws`;
  return `An estimate from ${draws} over ${run.studies === 1 ? "one study" : `${run.studies} studies`}, ` +
    `as of ${clock(run.created)}. Mean regret was about ${regret(run.estimate)} then. Ranges are the middle 80 % of the draws.`;
}

// -- time by number of devices

function timesFigure() {
  const y = { format: (value) => (known(value) ? duration(value) : "not reached"), ticks: durationTicks };
  const drawing = chart({
    height: 300,
    x: { format: devicesOf, tick: String, log: true, ticks: (low, high) => DOUBLES.filter((each) => each >= low && each <= high) },
    y,
    label: "Time by number of devices",
  });
  const list = table("Time until mean regret is low enough, by number of devices", [
    { name: "Devices", value: (row) => row.devices, show: (row) => String(row.devices) },
    ...Object.entries(POLICIES).flatMap(([policy, name]) => [
      { name, align: "right", value: (row) => row[policy]?.median ?? null, show: (row) => y.format(row[policy]?.median) },
      { name: `${name}: 80 % range`, show: (row) => (row[policy] ? range(row[policy]) : "–") },
      { name: `${name}: reached`, align: "right", value: (row) => row[policy]?.reached ?? null,
        show: (row) => percent(row[policy]?.reached) },
    ]),
  ], { key: (row) => row.devices });
  const picture = figure("How long it takes", drawing.node,
    { extras: [h("span.estimate", {}, "estimate")], table: list });

  return {
    node: picture.node,
    chart: drawing.node,
    set(run) {
      const found = run.answers.flatMap((each) => [each.median, each.low, each.high]).filter(known);
      const [least, most] = [Math.min(...found), Math.max(...found)];
      y.log = found.length > 0 && least > 0 && most > LOG_FACTOR * least;
      const top = most * (y.log ? 1.15 : 1.05);
      const sorted = (policy) => run.answers.filter((each) => each.policy === policy)
        .sort((one, other) => one.devices - other.devices);
      const policies = Object.keys(POLICIES).reverse(); // Bentham's line on top
      drawing.set({
        lines: policies.map((policy) => ({
          name: POLICIES[policy], style: STYLES[policy],
          x: sorted(policy).map((each) => each.devices), y: sorted(policy).map((each) => each.median),
        })),
        // A band reaches the top where some draws did not reach the level.
        bands: policies.map((policy) => ({
          style: STYLES[policy], x: sorted(policy).map((each) => each.devices),
          low: sorted(policy).map((each) => each.low), high: sorted(policy).map((each) => each.high ?? top),
        })),
        marks: policies.map((policy) => {
          const reached = sorted(policy).filter((each) => known(each.median));
          return { style: STYLES[policy], x: reached.map((each) => each.devices), y: reached.map((each) => each.median) };
        }),
        guides: run.devices === run.now ? [{ x: run.now, name: `now: ${run.now}` }]
          : [{ x: run.now, name: `now: ${run.now}` }, { x: run.devices, name: `requested: ${run.devices}` }],
        ends: { x: [1, 64], y: found.length ? [y.log ? least : 0, top] : [0, 1] },
      });
      const text = describeTimes(run);
      picture.summarise(text);
      drawing.describe(text);
      const counts = [...new Set(run.answers.map((each) => each.devices))].sort((one, other) => one - other);
      list.set(counts.map((devices) => ({
        devices, ...Object.fromEntries(policies.map((policy) => [policy, answerOf(run, devices, policy)])) })));
    },
  };
}

function durationTicks(low, high, about) {
  if (high <= 5) return ticks(low, high, about);
  if (low > 0) {
    const within = MARKS.filter((each) => each >= low && each <= high);
    const stride = Math.ceil(within.length / Math.max(3, about));
    return within.filter((_, place) => place % stride === 0);
  }
  const step = MARKS.find((each) => high / each <= about) ?? high;
  const found = [];
  for (let at = 0; at <= high; at += step) found.push(at);
  return found;
}

// -- mean regret over time

const fromNow = (seconds) => (seconds === 0 ? "now" : duration(seconds));
const nameOf = ({ policy, devices }) => `${POLICIES[policy]}, ${devicesOf(devices)}`;
const styleOf = (run, { policy, devices }) =>
  devices === run.now && run.now !== run.devices ? `${STYLES[policy]}.before` : STYLES[policy];

function curvesFigure(first) {
  const drawing = chart({
    height: 300,
    x: { format: fromNow, ticks: durationTicks },
    y: { format: regret },
    label: "Mean regret over time",
  });
  const which = [...new Set([first.now, first.devices])].flatMap((devices) =>
    Object.keys(POLICIES).map((policy) => ({ devices, policy })));
  const list = table("Mean regret over time, as a table", [
    { name: "After", value: (row) => row.time, show: (row) => fromNow(row.time) },
    ...which.map((each) => ({
      name: nameOf(each), align: "right", value: (row) => row[nameOf(each)], show: (row) => regret(row[nameOf(each)]) })),
  ], { key: (row) => row.time });
  const picture = figure("Mean regret over time", drawing.node,
    { extras: [h("span.estimate", {}, "estimate")], table: list });
  return {
    node: picture.node,
    chart: drawing.node,
    set(run) {
      // Bentham's curves come last, on top of the others.
      const curves = [...run.curves].sort((one, other) => other.policy.localeCompare(one.policy));
      drawing.set({
        lines: curves.map((curve) => ({ name: nameOf(curve), style: styleOf(run, curve), x: curve.times, y: curve.regret })),
        bands: curves.map((curve) => ({ style: styleOf(run, curve), x: curve.times, low: curve.low, high: curve.high })),
        guides: [{ y: run.regret, name: `below ${regret(run.regret)}` }],
        ends: { x: [0, null], y: [0, null] },
      });
      const text = describeCurves(run);
      picture.summarise(text);
      drawing.describe(text);
      list.set(sampled(curves));
    },
  };
}

// About 24 times, and the value of each curve at each of them.
function sampled(curves) {
  const longest = curves.reduce((found, curve) => (curve.times.length > (found?.times.length ?? 0) ? curve : found), null);
  if (longest === null) return [];
  const stride = Math.max(1, Math.floor(longest.times.length / 24));
  return longest.times.filter((_, place) => place % stride === 0).map((time) => ({
    time,
    ...Object.fromEntries(curves.map((curve) => {
      const place = curve.times.findLastIndex((each) => each <= time);
      return [nameOf(curve), place < 0 ? null : curve.regret[place]];
    })),
  }));
}

function download(run, times, curves) {
  const drawn = (node, heading) => ({
    drawing: node.querySelector("svg"), heading, legend: [...node.querySelectorAll(".legend li")] });
  savePicture(`bentham-${run.devices}-devices.svg`, "What if", [sentence(run), ...more(run), basis(run), ...run.notes], [
    drawn(times.chart, `How long until mean regret is below ${regret(run.regret)}, by number of devices`),
    drawn(curves.chart, "Mean regret over time"),
  ]);
}
