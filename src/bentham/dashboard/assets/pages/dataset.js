// One dataset: what was understood of its columns, and the studies on it.

import { all, patch, remove } from "/assets/api.js";
import { address, fill, h, link } from "/assets/dom.js";
import { ask, renaming } from "/assets/dialog.js";
import { bytes, clock, plural, whole } from "/assets/format.js";
import { heading, notice, panel, table } from "/assets/parts.js";
import { TYPES, classesText, samplesText } from "/assets/pages/create_columns.js";
import { applyEvent, studyTable } from "/assets/pages/study_table.js";

const MAX_STUDIES = 500;
const MAX_LISTED = 200; // columns
const COLUMNS = ["Study", "State", "Metric", "Best score", "Best model", "Baseline", "Tried"];

export async function open(context) {
  const path = `/datasets/${encodeURIComponent(context.parameters[0])}`;
  const admin = context.session.role === "admin";
  let dataset = await context.get(path);
  const studies = new Map();
  let pool = null;
  const list = studyTable("Studies on it", { pool: () => pool, columns: admin ? [...COLUMNS, "Tenant"] : COLUMNS,
    withTenants: admin, empty: "No study uses it." });
  const head = h("div.stack");

  async function readStudies() {
    const query = `/studies?limit=100&dataset=${encodeURIComponent(dataset.id)}`;
    const [items, found] = await Promise.all([
      all(query, MAX_STUDIES, { signal: context.signal }), context.get("/overview"),
    ]);
    pool = found;
    studies.clear();
    for (const study of items) studies.set(study.id, study);
    list.set(items);
  }

  function drawHead() {
    const may = admin || dataset.tenant !== "";
    fill(head,
      h("p.crumbs", {}, link("#/datasets", "Datasets")),
      heading(dataset.name,
        h("a.button", { href: `/v1${path}/content`, download: dataset.name }, "Download"),
        may && h("button", { type: "button", onclick: rename }, "Rename"),
        may && h("button.danger", { type: "button", onclick: drop }, "Delete"),
        h("a.button.main", { href: address("new", dataset.id) }, "New study on it")));
  }

  const rename = () => renaming(context, "dataset", dataset.name, async (name) => {
    dataset = await patch(path, { name });
    document.title = `${dataset.name} · Bentham`;
    drawHead();
  });

  const drop = () => ask(context, {
    title: `Delete ${dataset.name}?`,
    content: [
      h("p", {}, `The file with its ${plural(dataset.rows, "row")} is deleted permanently, and with it the ` +
        "output of the trials that trained on it."),
      h("p", {}, consequences([...studies.values()])),
    ],
    action: "Delete it",
    danger: true,
    async work() {
      await remove(path);
      location.hash = "#/datasets";
    },
  });

  await readStudies();
  drawHead();
  context.show(dataset.name, head, facts(dataset), columnsPanel(dataset),
    panel("Studies on it", list.node));
  const reread = context.renewer(readStudies, 2);
  context.listen((event) => {
    if (event?.kind.startsWith("trial-") && studies.has(event.study)) applyEvent(studies.get(event.study), event);
    else if (event !== null && !event.kind.startsWith("study-")) return;
    list.set([...studies.values()]);
    reread();
  });
}

// What a deletion means for the studies on the dataset.
function consequences(studies) {
  if (!studies.length) return "No study uses it.";
  const open = studies.filter((study) => study.state !== "closed").map((study) => study.name);
  if (open.length) {
    const more = open.length > 3 ? ` and ${plural(open.length - 3, "other")}` : "";
    return `It is in use: close ${open.slice(0, 3).join(", ")}${more} first.`;
  }
  return `${plural(studies.length, "closed study was", "closed studies were")} on it. Their scores and scripts ` +
    "stay, but none can be reopened until the same file is uploaded again.";
}

function facts(dataset) {
  const lines = [
    ["Size", `${plural(dataset.rows, "row")}, ${plural(dataset.width, "column")}, ${bytes(dataset.bytes)}`],
    ["Format", dataset.format === "csv" ? `CSV, values separated by ${separator(dataset.delimiter)}` : "Parquet"],
    ["Owner", dataset.tenant || "shared by all tenants"],
    ["Added", clock(dataset.created, false)],
    ["SHA-256", dataset.hash],
    ["Id", dataset.id],
  ];
  return h("section.panel", { "aria-label": "About this dataset" },
    h("dl.facts", {}, lines.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])));
}

const separator = (sign) =>
  ({ ",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces" })[sign] ?? sign;

function columnsPanel(dataset) {
  const names = new Map(TYPES);
  const list = table("Columns", [
    { name: "Column", value: (column) => column.name, show: (column) => h("span.column-name", {}, column.name,
      column.note && h("span.quiet", {}, column.note)) },
    { name: "Type", value: (column) => column.type, show: (column) => names.get(column.type) ?? column.type },
    { name: "As written = as read", show: (column) => samplesText(column) },
    { name: "Most frequent values", show: (column) => classesText(column) || "–" },
    { name: "Missing", align: "right", value: (column) => column.missing, show: (column) => whole(column.missing) },
    { name: "Distinct", align: "right", value: (column) => column.distinct, show: (column) => whole(column.distinct) },
  ], { maxRows: MAX_LISTED, empty: "No columns." });
  list.set(dataset.columns);
  return panel("What was understood of its columns", dataset.notes.map((note) => notice("", note)),
    h("p.summary", {}, "A study can read a column as another type: choose it when you create the study."),
    h("div.tall.columns-table", {}, list.node));
}
