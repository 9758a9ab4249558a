// The results of a study, and their export.

import { text } from "/assets/api.js";
import { copyButton, fill, h } from "/assets/dom.js";
import { number, score } from "/assets/format.js";
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

export function results(context) {
  let latest = null;
  const code = h("pre", { tabindex: "0", role: "group", "aria-label": "Configuration as JSON" });
  const metrics = h("dl.facts", {});
  const found = h("div.stack", {});
  const alertBox = h("div", { role: "alert" });
  const button = (label, work) => h("button", { type: "button", onclick: work }, label);
  const script = button("Training script (.py)", () => attempt(async () => {
    const path = `/studies/${encodeURIComponent(latest.study.id)}/script`;
    save(fileName(latest.study.name, ".py"), await text(path, { signal: context.signal }), "text/x-python");
  }));
  const configuration = button("Best configuration (JSON)", () =>
    save(fileName(latest.study.name, "-best.json"), `${code.textContent}\n`, "application/json"));
  const record = button("Learning record (CSV)", () =>
    save(fileName(latest.study.name, "-record.csv"), csv(RECORD, latest.record), "text/csv"));
  const candidates = button("Candidates (CSV)", () =>
    save(fileName(latest.study.name, "-candidates.csv"), csv(CANDIDATES, latest.candidates), "text/csv"));
  const best = panel("Best configuration", found);
  const exports = panel("Export",
    h("p.quiet", {}, "Download the current results."),
    h("div.actions", {}, script, configuration, record, candidates), alertBox);
  exports.tabIndex = -1;

  async function attempt(work) {
    fill(alertBox);
    try {
      await work();
    } catch (error) {
      if (error.name !== "AbortError") fill(alertBox, notice("bad", error.message));
    }
  }

  return {
    node: h("div.columns", {}, best, exports),
    focus() {
      exports.scrollIntoView({ block: "center" });
      exports.focus({ preventScroll: true });
    },
    set(next) {
      latest = next;
      const { study } = latest;
      const { incumbent } = study;
      script.hidden = !study.training || incumbent === null;
      configuration.hidden = incumbent === null;
      record.disabled = !latest.record.length;
      if (incumbent === null) {
        fill(found, h("p.quiet", {}, "No model has a score yet; the best one will appear here."));
        return;
      }
      const shown = JSON.stringify({
        model: incumbent.model,
        ...(incumbent.algorithm && { algorithm: incumbent.algorithm, configuration: incumbent.configuration }),
        metric: study.metric,
        score: incumbent.score,
      }, null, 2);
      if (code.textContent === shown && code.isConnected) return;
      code.textContent = shown;
      fill(metrics, Object.entries(incumbent.metrics).flatMap(([name, value]) =>
        [h("dt", {}, name), h("dd", {}, number(value, 5))]));
      fill(found,
        h("p", {}, `${incumbent.model} scored ${score(incumbent.score)}.`),
        h("div.copied", {}, code, copyButton(() => code.textContent)),
        metrics.childElementCount > 0 && h("h3", {}, "Metrics"),
        metrics.childElementCount > 0 && metrics);
    },
  };
}
