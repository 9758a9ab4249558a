// The candidate models of a study: posterior, score, expected improvement and cost.

import { fill, h } from "/assets/dom.js";
import { clip } from "/assets/fitted.js";
import { quantile, ticks } from "/assets/chart.js";
import { duration, known, number, plural, score, settings, whole } from "/assets/format.js";
import { badge, choice, figure, panel, table } from "/assets/parts.js";
import { toDecision } from "/assets/links.js";

const MANY = 20; // with at least this many values, a few may lie beyond the axis

export function candidates() {
  const drawing = picture();
  const list = candidateTable();
  let latest = null;
  let order = "mean";
  const sorting = choice("Order", [["mean", "By score"], ["rate", "By EI rate alone"]], order,
    (now) => {
      order = now;
      draw();
    });
  const shown = figure("Scores and posterior by model", drawing.node, { extras: [sorting] });
  const whole = panel("Candidates", h("div.tall", {}, list.node));

  function draw() {
    const { study, candidates: all } = latest;
    const sentence = summary(study, all);
    drawing.set([...all].sort(orders[order]), study.incumbent?.score ?? null, sentence);
    shown.summarise(sentence);
    list.set([...all].sort(orders.rate)); // the order of rows without a score
  }

  return {
    node: h("div.stack", {}, shown.node, whole),
    set(next) {
      latest = next;
      draw();
    },
  };
}

const expectedScore = (each) => each.score ?? each.mean ?? -Infinity;
const orders = {
  mean: (one, other) => expectedScore(other) - expectedScore(one),
  rate: (one, other) => (other.rate ?? -1) - (one.rate ?? -1) || expectedScore(other) - expectedScore(one),
};

function summary(study, all) {
  const counts = Object.groupBy(all, (each) => each.state);
  const parts = ["observed", "running", "untried", "failed"]
    .filter((state) => counts[state])
    .map((state) => `${whole(counts[state].length)} ${state}`);
  const highest = (counts.untried ?? []).filter((each) => known(each.mean)).sort(orders.mean)[0];
  const best = study.incumbent && `The best so far is ${study.incumbent.model} with ` +
    `${score(study.incumbent.score)}. `;
  const expected = highest && `Of the untried models, ${highest.model} has the highest posterior mean: ` +
    `${score(highest.mean)} ± ${number(highest.sigma, 2)}.`;
  return `${plural(all.length, "model")}: ${parts.join(", ")}. ${best || ""}${expected || ""}`.trim();
}

// -- the chart: a line for each model

function picture() {
  const axis = h("div.axis-line", {});
  const mark = h("div.incumbent-line", {});
  const rows = h("div.rows", {});
  const image = h("div.beliefs", { role: "img" }, axis, h("div.plot", {}, rows, mark));
  const legend = h("ul.legend.beliefs-legend", {},
    h("li.seen", {}, "observed"), h("li.believed", {}, "posterior mean ± one standard deviation"),
    h("li.running", {}, "running"), h("li.failed", {}, "failed"), h("li.best", {}, "best so far"));
  const drawn = new Map();
  const node = h("div", {}, legend,
    h("div.tall.scroll", { tabindex: "0", role: "region", "aria-label": "Scores and posterior, chart" }, image));

  return {
    node,
    set(all, best, sentence) {
      image.setAttribute("aria-label", sentence);
      const [low, high] = ends(all);
      const at = (value) => 100 * Math.min(1, Math.max(0, (value - low) / (high - low)));
      fill(axis, ticks(low, high, 5).map((value) =>
        h("span", { style: { left: `${at(value)}%` } }, String(Number(value.toPrecision(4))))));
      mark.hidden = best === null;
      if (best !== null) mark.style.setProperty("--at", String(at(best) / 100));
      const nodes = all.map((each) => {
        const content = [each.state, each.score, each.mean, each.sigma, low, high].join();
        const before = drawn.get(each.model);
        if (before?.content === content) return before.node;
        const row = line(each, at, low);
        drawn.set(each.model, { content, node: row });
        return row;
      });
      rows.replaceChildren(...nodes);
    },
  };
}

function line(each, at, low) {
  const track = h("span.track", {});
  const place = (kind, value, text = "") =>
    track.append(h(`span.${kind}`, { style: { left: `${at(value)}%` } }, text));
  if (each.state === "observed") {
    place(each.score < low ? "seen.beyond" : "seen", each.score);
  } else if (known(each.mean)) {
    const [from, to] = [at(each.mean - each.sigma), at(each.mean + each.sigma)];
    track.append(h("span.band", { style: { left: `${from}%`, width: `${to - from}%` } }));
    place("mean", each.mean);
    if (each.state === "running") place("ring", each.mean);
    if (each.state === "failed") place("cross", each.mean, "×");
  } else if (each.state === "failed") place("cross", low, "×");
  const text = each.state === "observed" ? score(each.score)
    : known(each.mean) ? `${score(each.mean)} ± ${number(each.sigma, 2)}` : "unknown";
  return h("div.belief", { "data-state": each.state, title: `${each.model}, ${each.state}: ${text}` },
    h("span.name", {}, clip(each.model)), track);
}

// The ends of the axis: around all values, except a few that are far below.
function ends(all) {
  const lows = all.map((each) => each.score ?? (known(each.mean) ? each.mean - each.sigma : null))
    .filter(known);
  const highs = all.map((each) => each.score ?? (known(each.mean) ? each.mean + each.sigma : null))
    .filter(known);
  if (!lows.length) return [0, 1];
  const low = lows.length >= MANY ? quantile(lows, 0.05) : Math.min(...lows);
  const high = Math.max(...highs);
  const room = 0.03 * (high - low) || 0.05;
  return [low - room, high + room];
}

// -- the table

function candidateTable() {
  return table("List of candidates", [
    { name: "Model", value: (each) => each.model, show: modelCell },
    { name: "State", value: (each) => each.state, show: (each) => badge(each.state) },
    { name: "Score", align: "right", value: (each) => each.score, show: (each) => score(each.score) },
    { name: "Posterior", align: "right", value: (each) => each.mean, show: posteriorText },
    { name: "EI alone", align: "right", value: (each) => each.expected_improvement,
      show: (each) => number(each.expected_improvement) },
    { name: "EI rate alone", align: "right", value: (each) => each.rate,
      show: (each) => (known(each.rate) ? `${number(each.rate)} /s` : "–") },
    { name: "Predicted cost", align: "right", value: (each) => each.cost,
      show: (each) => duration(each.cost) },
    { name: "Duration", align: "right", value: (each) => each.duration ?? null,
      show: (each) => duration(each.duration) },
    { name: "Decision", show: (each) =>
      (each.trial ? toDecision(each.trial, "Why", h("span.visually-hidden", {}, ` ${each.model}`)) : "") },
  ], { key: (each) => each.model, order: { by: "Score", down: true } });
}

function modelCell(each) {
  const description = [each.algorithm, settings(each.configuration)].filter(Boolean).join(": ");
  return h("span.model", {}, each.model, description && h("span.quiet", {}, description));
}

function posteriorText(each) {
  if (!known(each.mean)) return "–";
  return each.state === "observed" ? score(each.mean) : `${score(each.mean)} ± ${number(each.sigma, 2)}`;
}
