// A look at the best model of a study: where it errs, what it needs; and the model itself to keep.

import { post } from "/assets/api.js";
import { bars } from "/assets/bars.js";
import { chart, ticks } from "/assets/chart.js";
import { fill, h } from "/assets/dom.js";
import { bytes, number, percent, plural, whole } from "/assets/format.js";
import { figure, notice, panel, table } from "/assets/parts.js";

const READ_SECONDS = 1.5;
const REFRESH_SECONDS = 10; // while a fit waits: what it waits for may change without an event
const MOST_BARS = 12;
const DARKEST = 45; // % of the accent behind a number, so that the number stays legible

// `set(state)` reads what is new by itself: a look changes only with the best model.
export function bestModel(context, id) {
  const path = `/studies/${encodeURIComponent(id)}`;
  const figures = [errors(), residuals(), curve(), importance()];
  const parts = [...figures, fitted(path, read)];
  const looks = h("div.columns", {}, figures.map((part) => part.node));
  const node = h("div.stack", { hidden: true }, looks, parts.at(-1).node);
  let seen = "";
  let latest = null;

  async function read() {
    latest = await context.get(`${path}/best`);
    draw();
  }

  function draw() {
    const kept = latest.fitted !== null || (latest.task !== null && latest.model !== null);
    node.hidden = latest.look === null && !kept;
    looks.hidden = latest.look === null;
    for (const part of parts) part.set(latest);
  }

  const plan = context.renewer(read, READ_SECONDS);
  context.listen((event) => {
    const own = event !== null && (event.study === id || event.id === id);
    if (event === null || (own && (event.kind.startsWith("fit-") || event.purpose === "fit"))) plan();
  });
  context.every(REFRESH_SECONDS, () => {
    if (["waiting", "running"].includes(latest?.fitted?.state)) plan();
  });
  return {
    node,
    set({ study }) {
      const now = `${study.name} ${study.incumbent?.model} ${study.incumbent?.score}`;
      if (seen === now) return;
      seen = now;
      plan();
    },
  };
}

function hide(shown, missing) {
  shown.node.hidden = missing;
  return missing;
}

// -- the confusion matrix: a table is the figure

function errors() {
  const grid = h("div.scroll", { tabindex: "0", role: "group", "aria-label": "Confusion matrix" });
  const shown = figure("Where the best model errs", grid);
  return {
    node: shown.node,
    set({ look, model }) {
      const found = look?.confusion;
      if (hide(shown, !found)) return;
      const names = [...found.classes, ...(found.merged ? [`${whole(found.merged)} rare classes`] : [])];
      const sums = found.counts.map((row) => row.reduce((one, other) => one + other, 0));
      fill(grid, h("table.matrix", {},
        h("caption.visually-hidden", {}, "Held-out rows by true class and predicted class"),
        h("thead", {}, h("tr", {},
          h("th", { scope: "col" }, "True class"),
          names.map((name) => h("th.right", { scope: "col" }, `as ${name}`)),
          h("th.right", { scope: "col" }, "Right"))),
        h("tbody", {}, found.counts.map((row, at) => h("tr", {},
          h("th", { scope: "row" }, names[at]),
          row.map((count, place) => h(place === at ? "td.right.hit" : "td.right", {
            style: { background: shade(sums[at] ? count / sums[at] : 0) },
          }, whole(count))),
          h("td.right", {}, sums[at] ? percent(row[at] / sums[at]) : "–"))))));
      shown.summarise(errorSentence(model, look.rows, names, found.counts, sums));
    },
  };
}

function shade(share) {
  return `color-mix(in srgb, var(--accent) ${Math.round(DARKEST * share)}%, transparent)`;
}

function errorSentence(model, rows, names, counts, sums) {
  const right = counts.reduce((sum, row, at) => sum + row[at], 0);
  const worst = counts
    .flatMap((row, at) => row.map((count, place) => ({ count, at, place })))
    .filter(({ at, place, count }) => at !== place && count > 0)
    .sort((one, other) => other.count - one.count)[0];
  const most = worst ? ` Its most frequent error: ${plural(worst.count, "row")} of ${names[worst.at]} ` +
    `predicted as ${names[worst.place]}, of ${whole(sums[worst.at])}.` : "";
  return `${model} predicts ${whole(right)} of ${whole(rows)} held-out rows correctly.${most} A stronger ` +
    "colour is a larger share of the rows of its class.";
}

// -- residuals

function residuals() {
  const drawing = chart({
    height: 280, label: "Predicted against true values",
    x: { format: number, ticks, label: "true value" }, y: { format: number, ticks, label: "predicted" },
  });
  const list = table("Quantiles of prediction minus true value", [
    { name: "Rows with a smaller or equal error", value: ([level]) => level, show: ([level]) => percent(level) },
    { name: "Prediction minus true value", align: "right", value: ([, value]) => value,
      show: ([, value]) => number(value, 4) },
  ], { key: ([level]) => level });
  const shown = figure("Predicted against true values", drawing.node, { table: list });
  return {
    node: shown.node,
    set({ look, model }) {
      const found = look?.residuals;
      if (hide(shown, !found)) return;
      const truth = found.sample.map(([value]) => value);
      const ends = [Math.min(...truth), Math.max(...truth)];
      drawing.set({
        lines: [{ name: "a perfect prediction", style: "faint", x: ends, y: ends }],
        marks: [{ style: "main", x: truth, y: found.sample.map(([, guess]) => guess) }],
      });
      list.set(found.quantiles);
      const at = (level) => found.quantiles.find(([each]) => each === level)?.[1];
      const sentence = `Half of the ${whole(look.rows)} held-out predictions of ${model} are between ` +
        `${number(at(0.25), 4)} and ${number(at(0.75), 4)} off, nine in ten between ${number(at(0.05), 4)} ` +
        `and ${number(at(0.95), 4)}. The chart shows ${plural(found.sample.length, "row")}; below the line, ` +
        "the prediction is too low.";
      drawing.describe(sentence);
      shown.summarise(sentence);
    },
  };
}

// -- the curve over thresholds

function curve() {
  const share = (value) => percent(value);
  const drawing = chart({
    height: 250, label: "Precision and recall over thresholds",
    x: { format: (value) => number(value), ticks, label: "threshold" }, y: { format: share, ticks },
  });
  const list = table("Thresholds", [
    { name: "Threshold", value: ([at]) => at, show: ([at]) => number(at, 4) },
    { name: "Precision", align: "right", value: (row) => row[1], show: (row) => percent(row[1], 1) },
    { name: "Recall", align: "right", value: (row) => row[2], show: (row) => percent(row[2], 1) },
    { name: "False positives", align: "right", value: (row) => row[3], show: (row) => percent(row[3], 1) },
  ], { key: ([at]) => at });
  const shown = figure("Thresholds", drawing.node, { table: list });
  return {
    node: shown.node,
    set({ look }) {
      const found = look?.thresholds;
      if (hide(shown, !found?.points.length)) return;
      const column = (place) => found.points.map((row) => row[place]);
      drawing.set({
        lines: [
          { name: "Precision", style: "main", x: column(0), y: column(1) },
          { name: "Recall", style: "second", x: column(0), y: column(2) },
          { name: "False positive rate", style: "faint", x: column(0), y: column(3) },
        ],
        ends: { y: [0, 1] },
      });
      list.set(found.points);
      const best = [...found.points].sort((one, other) => balance(other) - balance(one))[0];
      const sentence = `A row counts as ${found.positive} if the model's value for it is at least the ` +
        `threshold. At ${number(best[0])}, where precision and recall balance best, ${percent(best[1])} of ` +
        `those rows are ${found.positive}, and ${percent(best[2])} of all ${found.positive} are found; ` +
        `measured on ${whole(found.rows)} held-out rows.`;
      drawing.describe(sentence);
      shown.summarise(sentence);
    },
  };
}

const balance = ([, precision, recall]) => (2 * precision * recall) / (precision + recall || 1);

// -- permutation importance

function importance() {
  const drawing = bars();
  const list = table("Importance of columns", [
    { name: "Column", value: ([name]) => name, show: ([name]) => name },
    { name: "Score falls by", align: "right", value: (row) => row[1], show: (row) => number(row[1]) },
    { name: "Least", align: "right", value: (row) => row[2], show: (row) => number(row[2]) },
    { name: "Most", align: "right", value: (row) => row[3], show: (row) => number(row[3]) },
  ], { key: ([name]) => name });
  const shown = figure("Columns that matter", drawing.node, { table: list });
  return {
    node: shown.node,
    set({ look, model }) {
      const found = look?.importance;
      if (hide(shown, !found?.columns.length)) return;
      const top = found.columns.slice(0, MOST_BARS);
      const more = found.columns.length - top.length + found.omitted;
      const left = found.unmeasured_count ? ` There was no time to measure ` +
        `${plural(found.unmeasured_count, "column")}: ${found.unmeasured.join(", ")}` +
        `${found.unmeasured.length < found.unmeasured_count ? ", …" : ""}.` : "";
      const sentence = `How much the score of ${model}, ${number(found.score)} on ${whole(found.rows)} ` +
        `held-out rows, falls when the values of one column are shuffled: most for ${top[0][0]}, by ` +
        `${number(top[0][1])}.${more > 0 ? ` ${plural(more, "further column")} matter less.` : ""}${left}`;
      drawing.set(top.map(([name, fall]) => ({ name, value: fall, text: number(fall) })), sentence);
      list.set(found.columns);
      shown.summarise(sentence);
    },
  };
}

// -- the fitted model

function fitted(path, read) {
  const alertBox = h("div", { role: "alert" });
  const status = h("p", { role: "status" });
  const facts = h("dl.facts");
  const button = h("button", { type: "button", onclick: ask });
  const download = h("a.button", { href: `/v1${path}/fitted/file`, download: "" }, "Download (.pyz)");
  const node = panel("Fitted model",
    h("p.quiet", {}, "The model trained on all rows, as a file that Python runs: it predicts the rows of a table, " +
      "and needs neither this server nor the data. It runs code when it is opened, so open only files " +
      "that you trust."),
    h("div.actions", {}, button, download), status, facts, alertBox);

  async function ask() {
    button.disabled = true;
    fill(alertBox);
    try {
      await post(`${path}/fitted`, {});
      await read();
    } catch (error) {
      if (error.name !== "AbortError") fill(alertBox, notice("bad", error.message));
    }
    button.disabled = false;
  }

  return {
    node,
    set({ model, task, fitted: fit }) {
      node.hidden = fit === null && (model === null || task === null);
      const ready = fit?.state === "ready";
      download.hidden = !ready;
      button.hidden = fit !== null && fit.model === model && fit.state !== "failed";
      button.textContent = fit === null ? "Fit the best model" : `Fit ${model} instead`;
      if (fit?.state === "failed") button.textContent = "Try again";
      const texts = {
        waiting: () => `${fit.model} is to be fitted: ${fit.reason}.`,
        running: () => `A device is training ${fit.model} on all rows.`,
        ready: () => `${fit.model} is ready.`,
        failed: () => `${fit.model} could not be fitted: ${fit.reason}.`,
      };
      const text = fit === null ? "" : texts[fit.state]();
      if (status.textContent !== text) status.textContent = text;
      facts.hidden = !ready;
      if (!ready) return;
      fill(facts, [
        ["Size", bytes(fit.bytes)],
        ["SHA-256", h("code", {}, fit.hash)],
        ["Needs", fit.versions.join(", ")],
        ["Predict", h("code", {}, "python FILE.pyz new.csv --out predictions.csv")],
      ].flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    },
  };
}
