// The best configuration of a study, and downloads of its results.

import { text } from "/assets/api.js";
import { copyButton, fill, h } from "/assets/dom.js";
import { number, score, scoreName } from "/assets/format.js";
import { notice, panel } from "/assets/parts.js";
import { csv, fileName, save, stamp } from "/assets/save.js";

const RECORD = [
  ["trial", (line) => line.trial], ["model", (line) => line.model], ["time", (line) => stamp(line.time)],
  ["seconds", (line) => line.seconds], ["device_seconds", (line) => line.device_seconds],
  ["cost_predicted", (line) => line.cost], ["duration", (line) => line.duration],
  ["score", (line) => line.score], ["best", (line) => line.best],
];
const CANDIDATES = [
  ["model", (each) => each.model], ["algorithm", (each) => each.algorithm],
  ["configuration", (each) => JSON.stringify(each.configuration)], ["state", (each) => each.state],
  ["score", (each) => each.score], ["mean", (each) => each.mean], ["sigma", (each) => each.sigma],
  ["expected_improvement", (each) => each.expected_improvement], ["rate", (each) => each.rate],
  ["cost_predicted", (each) => each.cost], ["duration", (each) => each.duration],
  ["trial", (each) => each.trial],
];

export function bestConfiguration() {
  const code = h("pre", { tabindex: "0", role: "group", "aria-label": "Configuration as JSON" });
  const metrics = h("dl.facts", {});
  const found = h("div.stack", {});
  return {
    node: panel("Best configuration", found),
    set({ study }) {
      const { incumbent } = study;
      if (incumbent === null) {
        fill(found, h("p.quiet", {}, "No model has a score yet; the best one will appear here."));
        return;
      }
      const shown = asJson(study);
      if (code.textContent === shown && code.isConnected) return;
      code.textContent = shown;
      fill(metrics, Object.entries(incumbent.metrics).flatMap(([name, value]) =>
        [h("dt", {}, name), h("dd", {}, number(value, 5))]));
      fill(found,
        h("p", {}, `${incumbent.model} scored ${score(incumbent.score)} (${scoreName(study)}).`),
        h("div.copied", {}, code, copyButton(() => code.textContent)),
        metrics.childElementCount > 0 && h("h3", {}, "Metrics"),
        metrics.childElementCount > 0 && metrics);
    },
  };
}

function asJson({ incumbent, metric }) {
  return JSON.stringify({
    model: incumbent.model,
    ...(incumbent.algorithm && { algorithm: incumbent.algorithm, configuration: incumbent.configuration }),
    metric,
    score: incumbent.score,
  }, null, 2);
}

export function exports(context) {
  let latest = null;
  const alertBox = h("div", { role: "alert" });
  const button = (label, work) => h("button", { type: "button", onclick: work }, label);
  const script = button("Training script (.py)", async () => {
    fill(alertBox);
    try {
      const path = `/studies/${encodeURIComponent(latest.study.id)}/script`;
      save(fileName(latest.study.name, ".py"), await text(path, { signal: context.signal }), "text/x-python");
    } catch (error) {
      if (error.name !== "AbortError") fill(alertBox, notice("bad", error.message));
    }
  });
  const configuration = button("Best configuration (JSON)", () =>
    save(fileName(latest.study.name, "-best.json"), `${asJson(latest.study)}\n`, "application/json"));
  const record = button("Learning record (CSV)", () =>
    save(fileName(latest.study.name, "-record.csv"), csv(RECORD, latest.record), "text/csv"));
  const candidates = button("Candidates (CSV)", () =>
    save(fileName(latest.study.name, "-candidates.csv"), csv(CANDIDATES, latest.candidates), "text/csv"));
  const files = [
    [script, "Retrains the best model on your machine, with the same score."],
    [configuration, "The best model, its settings and its score."],
    [record, "Each score in the order of arrival, with the best so far."],
    [candidates, "Every model with its score or posterior, expected improvement and cost."],
  ].map(([each, words]) => ({ each, node: h("li", {}, each, h("span.quiet", {}, words)) }));
  return {
    node: panel("Export", h("ul.files", {}, files.map(({ node }) => node)), alertBox),
    set(next) {
      latest = next;
      const { study } = latest;
      const shown = new Map([[script, study.training && study.incumbent !== null],
        [configuration, study.incumbent !== null]]);
      for (const { each, node } of files) node.hidden = !(shown.get(each) ?? true);
      record.disabled = !latest.record.length;
    },
  };
}
