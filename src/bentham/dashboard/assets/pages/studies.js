// The list of studies, updated live.

import { all } from "/assets/api.js";
import { fill, h, link } from "/assets/dom.js";
import { plural, whole } from "/assets/format.js";
import { choice, emptyPanel, heading } from "/assets/parts.js";
import { applyEvent, studyTable } from "/assets/pages/study_table.js";

const MAX_STUDIES = 2000;
// Reading the list costs the server time: the more studies, the less often.
const READ_SECONDS = 2;
const SECONDS_PER_STUDY = 0.02;
const STATES = [["", "All"], ["open", "Open"], ["paused", "Paused"], ["closed", "Closed"]];

export async function open(context) {
  const studies = new Map();
  const filters = { text: "", state: "" };
  const counts = h("p.summary");
  let pool = null;
  const list = studyTable("List of studies", { pool: () => pool,
    withTenants: context.session.role === "admin", empty: "No study matches.",
    order: { by: "Created", down: true } });
  const search = h("input", {
    id: "find", type: "search", placeholder: "Name, model, metric …", autocomplete: "off",
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
    const [items, found] = await Promise.all([
      all("/studies?limit=200", MAX_STUDIES, { signal: context.signal }), context.get("/overview"),
    ]);
    pool = found;
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
    else if (event !== null && event.kind !== "no-device") return;
    redraw();
    reread();
  });
}

function matches(study, text) {
  if (!text) return true;
  const words = [study.name, study.tenant, study.data, study.dataset, study.metric, study.id,
    study.incumbent?.model ?? ""];
  return words.some((word) => word.toLowerCase().includes(text));
}
