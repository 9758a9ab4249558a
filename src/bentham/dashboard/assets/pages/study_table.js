// Studies as a table: what each has found, and why it waits or has ended.

import { h } from "/assets/dom.js";
import { clip } from "/assets/fitted.js";
import { clock, number, plural, score, scoreName } from "/assets/format.js";
import { toStudy } from "/assets/links.js";
import { badge, meter, table } from "/assets/parts.js";

const WAITS = {
  "running-trials": "waits: the tenant's limit of running trials is reached",
  "device-time": "waits: the tenant's device time for today (UTC) is used up",
};
const RANK = { open: 0, paused: 1, closed: 2 };
// Models whose trials have ended; those that run are not counted yet.
export const tried = (study) => study.models - study.untried - study.trials.running;

// The score of the best constant prediction; null if it is not known.
export const baseline = (study) => (study.data || study.floor !== 0 ? study.floor : null);

export const isBeaten = (study) =>
  study.incumbent === null || baseline(study) === null || study.incumbent.score > study.floor;

// `pool()` returns the latest response of /overview, which says why studies wait.
export function studyTable(caption, { pool, withTenants = false, columns = null, empty, order }) {
  const all = [
    { name: "Study", value: (study) => study.name.toLowerCase(),
      show: (study) => h("span.study-name", {}, toStudy(study.id, study.name)) },
    { name: "Tenant", value: (study) => study.tenant, show: (study) => study.tenant },
    { name: "Best score", align: "right", value: (study) => study.incumbent?.score ?? null,
      show: (study) => h("strong", {}, score(study.incumbent?.score)) },
    { name: "Metric", align: "metric", value: (study) => study.metric, show: scoreName },
    { name: "Best model", value: (study) => study.incumbent?.model ?? null,
      show: (study) => (study.incumbent ? clip(study.incumbent.model) : "–") },
    { name: "Baseline", align: "right", value: baseline, show: baselineCell },
    { name: "Gain, 1 h", align: "right", value: (study) => study.gained.last_hour,
      show: (study) => gain(study.gained.last_hour) },
    { name: "Gain, 24 h", align: "right", value: (study) => study.gained.last_day,
      show: (study) => gain(study.gained.last_day) },
    { name: "Tried", align: "right", value: (study) => tried(study) / study.models,
      show: (study) => meter(tried(study) / study.models, `${tried(study)} of ${study.models}`) },
    { name: "State", value: (study) => RANK[study.state], show: (study) => stateCell(study, pool()) },
    { name: "Created", align: "right", value: (study) => study.created,
      show: (study) => clock(study.created, false) },
  ];
  const shown = all.filter(({ name }) =>
    (withTenants || name !== "Tenant") && (columns === null || columns.includes(name)));
  return table(caption, shown, {
    key: (study) => study.id, empty, order,
    stamp: (study) => [study.name, study.state, study.reason, study.incumbent?.score, study.incumbent?.model, scoreName(study),
      study.untried, study.trials.running, study.gained.last_hour, study.gained.last_day, waiting(study, pool())].join(),
  });
}

const gain = (value) => (value > 0 ? `+${number(value, 2)}` : "–");

function baselineCell(study) {
  const value = score(baseline(study));
  if (isBeaten(study)) return value;
  return h("span", {}, value, " ", h("span.badge", { "data-state": "waiting" }, "not beaten"));
}

function stateCell(study, pool) {
  const text = study.state === "closed" ? ended(study) : waiting(study, pool);
  return h("span.state.study-state", { title: study.reason }, badge(study.state), text && h("span.reason", {}, text));
}

// Why a study has ended, in a few words; its page shows the whole reason.
function ended({ reason }) {
  return reason.startsWith("all untried models together") ? "little left to gain" : reason;
}

// What an open study does, or why it waits.
function waiting(study, pool) {
  if (study.state !== "open") return "";
  const running = study.trials.running > 0 && `${plural(study.trials.running, "trial")} running`;
  if (running || study.untried === 0) return running || "";
  if (pool.no_device) return "waits: no device is alive";
  pool.reached ??= new Map(pool.tenants.map(({ tenant, reached }) => [tenant, reached]));
  return WAITS[pool.reached.get(study.tenant)] ?? "waits for a device";
}

// Update a study by an event until it is read again.
export function applyEvent(study, event) {
  if (!study) return;
  if (event.kind === "trial-leased") {
    study.trials.running += 1;
    study.untried = Math.max(0, study.untried - 1);
    return;
  }
  study.trials.running = Math.max(0, study.trials.running - 1);
  if (event.kind !== "trial-completed") return;
  study.trials.complete += 1;
  if (study.incumbent === null || event.score > study.incumbent.score) {
    const gained = event.score - (study.incumbent?.score ?? Math.min(study.floor, event.score));
    study.gained.last_hour += gained;
    study.gained.last_day += gained;
    study.incumbent = { model: event.model, score: event.score, metrics: event.metrics };
  }
}
