// The list of studies, updated live.

import { all } from "/assets/api.js";
import { fill, h, link } from "/assets/dom.js";
import { clock, duration, plural, score, whole } from "/assets/format.js";
import { toStudy } from "/assets/links.js";
import { badge, choice, emptyPanel, heading, meter, table } from "/assets/parts.js";

const MAX_STUDIES = 2000;
// Reading the list costs the server time: the more studies, the less often.
const READ_SECONDS = 2;
const SECONDS_PER_STUDY = 0.02;
const STATES = [["", "All"], ["open", "Open"], ["paused", "Paused"], ["closed", "Closed"]];

export async function open(context) {
  const studies = new Map();
  const filters = { text: "", state: "" };
  const counts = h("p.summary");
  const list = studyTable(context.session.role === "admin");
  const search = h("input", {
    id: "find", type: "search", placeholder: "Name, model, data …", autocomplete: "off",
    oninput: () => {
      filters.text = search.value.trim().toLowerCase();
      draw();
    },
  });
  const filter = h("div.filter", {},
    h("label", { for: "find" }, "Find"), search,
    choice("State", STATES, "", (state) => {
      filters.state = state;
      draw();
    }));
  const content = h("div.panel", {}, filter, counts, list.node);
  const emptyState = emptyPanel("No studies yet",
    h("p", {}, "A study finds the model that best predicts one column of a table."),
    h("a.button.main", { href: "#/new" }, "New study"));
  const body = h("div", {}, content);

  function draw() {
    const found = [...studies.values()].filter((study) =>
      (!filters.state || study.state === filters.state) && matches(study, filters.text));
    const shown = studies.size ? content : emptyState;
    if (body.firstChild !== shown) fill(body, shown);
    const open = found.filter((study) => study.state === "open").length;
    const running = found.reduce((sum, study) => sum + study.trials.running, 0);
    counts.textContent = `${plural(found.length, "study", "studies")}` +
      `${found.length < studies.size ? ` of ${whole(studies.size)}` : ""}: ` +
      `${whole(open)} open, ${plural(running, "trial")} running.` +
      (studies.size >= MAX_STUDIES ? ` Only the newest ${whole(MAX_STUDIES)} are listed.` : "");
    list.set(found);
  }

  async function read() {
    const items = await all("/studies?limit=200", MAX_STUDIES, { signal: context.signal });
    studies.clear();
    for (const study of items) studies.set(study.id, study);
    draw();
  }

  await read();
  context.show("Studies",
    heading("Studies", link("#/decisions", "Decisions"),
      h("a.button.main", { href: "#/new" }, "New study")), body);
  const redraw = context.renewer(async () => draw(), 1);
  const reread = context.renewer(read, Math.max(READ_SECONDS, SECONDS_PER_STUDY * studies.size));
  context.listen((event) => {
    if (event?.kind.startsWith("study-") && event.trials) studies.set(event.id, event);
    else if (event?.kind.startsWith("trial-")) applyEvent(studies.get(event.study), event);
    else if (event !== null) return;
    redraw();
    reread();
  });
}

// Update a study by an event until the list is read again.
function applyEvent(study, event) {
  if (!study) return;
  if (event.kind === "trial-leased") {
    study.trials.running += 1;
    study.untried = Math.max(0, study.untried - 1);
    return;
  }
  study.trials.running = Math.max(0, study.trials.running - 1);
  if (event.ended) study.device_seconds += event.ended - event.started;
  if (event.kind !== "trial-completed") return;
  study.trials.complete += 1;
  if (study.incumbent === null || event.score > study.incumbent.score) {
    study.incumbent = { model: event.model, score: event.score };
  }
}

function matches(study, text) {
  if (!text) return true;
  const words = [study.name, study.tenant, study.data, study.dataset, study.metric, study.id,
    study.incumbent?.model ?? ""];
  return words.some((word) => word.toLowerCase().includes(text));
}

function studyTable(withTenants) {
  const tried = (study) => study.models - study.untried;
  const columns = [
    { name: "Study", value: (study) => study.name.toLowerCase(),
      show: (study) => toStudy(study.id, study.name) },
    { name: "Tenant", value: (study) => study.tenant, show: (study) => study.tenant },
    { name: "State", value: (study) => study.state, show: (study) => badge(study.state) },
    { name: "Best so far", align: "right", value: (study) => study.incumbent?.score ?? null,
      show: (study) => score(study.incumbent?.score) },
    { name: "Best model", value: (study) => study.incumbent?.model ?? null,
      show: (study) => study.incumbent?.model ?? "–" },
    { name: "Tried", align: "right", value: (study) => tried(study) / study.models,
      show: (study) => meter(tried(study) / study.models, `${tried(study)} of ${study.models}`) },
    { name: "Running", align: "right", value: (study) => study.trials.running,
      show: (study) => whole(study.trials.running) },
    { name: "Device time", align: "right", value: (study) => study.device_seconds,
      show: (study) => duration(study.device_seconds) },
    { name: "Created", align: "right", value: (study) => study.created,
      show: (study) => clock(study.created, false) },
  ].filter((column) => withTenants || column.name !== "Tenant");
  return table("List of studies", columns, {
    key: (study) => study.id, empty: "No study matches.", order: { by: "Created", down: true },
    stamp: (study) => [study.state, study.incumbent?.score, study.incumbent?.model, study.untried,
      study.trials.running, study.device_seconds].join(),
  });
}
