// The form for a new study: its data, the column to predict, the metric.

import { all, post } from "/assets/api.js";
import { address, fill, h } from "/assets/dom.js";
import { plural } from "/assets/format.js";
import { emptyPanel, heading, notice, panel } from "/assets/parts.js";
import { columnsPart, describeTarget } from "/assets/pages/create_columns.js";
import { dataPart } from "/assets/pages/create_data.js";
import { morePart } from "/assets/pages/create_more.js";
import { field } from "/assets/field.js";

const DEFAULT_CANDIDATES = 40;
const MAX_CANDIDATES = 500;
const MAX_NAME_LENGTH = 200;
// Usual names of the column to predict; any other must be chosen by the user.
const USUAL_TARGETS = ["target", "label", "class", "y"];

export async function open(context) {
  const admin = context.session.role === "admin";
  const [tenants, metrics, algorithms] = await Promise.all([
    admin ? all("/tenants", 2000, { signal: context.signal }) : [],
    context.get("/metrics"), context.get("/algorithms"),
  ]);
  if (admin && !tenants.length) {
    context.show("New study", heading("New study"), emptyPanel("No tenants yet",
      h("p", {}, "A study belongs to a tenant. Create one first: ",
        h("a", { href: "#/tenants" }, "Tenants"), ".")));
    return;
  }
  let dataset = null;
  const alertBox = h("div", { role: "alert" });
  const details = h("div.stack", { hidden: true });
  const tenant = admin ? field("Tenant", h("select", {},
    tenants.map((each) => h("option", { value: each.name }, each.name))), "The owner of the study.") : null;
  const owner = () => (tenant ? tenant.input.value : null);
  const columns = columnsPart(() => suggest());
  const target = field("Column to predict", h("select", { required: true, name: "target" }));
  const evaluation = evaluationPart(metrics.items, () => more.showFor(evaluation.task()));
  const name = field("Study name", h("input", {
    required: true, maxlength: MAX_NAME_LENGTH, name: "name", autocomplete: "off", size: "34",
  }));
  const count = field("Number of candidate models", h("input", {
    type: "number", min: 1, max: MAX_CANDIDATES, value: DEFAULT_CANDIDATES, required: true, name: "candidates",
  }), "The default of each algorithm comes first; more models take longer to try.");
  const more = morePart(algorithms.items);
  const create = h("button.main", { type: "submit" }, "Create the study");
  let nameEdited = false; // whether the user entered a name

  name.input.addEventListener("input", () => (nameEdited = name.input.value !== ""));
  target.input.addEventListener("change", () => suggest());

  function suggest() {
    const column = dataset.columns.find((each) => each.name === target.input.value);
    evaluation.suggest(column, columns.types()[column?.name], dataset.rows);
    columns.mark(target.input.value);
    target.hint.textContent = column ? describeTarget(column) : "";
    more.showFor(evaluation.task());
    if (nameEdited) return;
    const stem = dataset.name.replace(/^.*:/, "").replace(/\.(csv|tsv|txt|parquet)$/i, "");
    name.input.value = (column ? `${stem}: ${column.name}` : stem).slice(0, MAX_NAME_LENGTH);
  }

  // A dataset was chosen; null if it was deselected.
  function use(found) {
    dataset = found;
    fill(alertBox);
    details.hidden = found === null;
    if (found === null) return;
    const usual = found.columns.find((each) => USUAL_TARGETS.includes(each.name.toLowerCase()));
    fill(target.input, h("option", { value: "", disabled: true, selected: !usual }, "Choose a column"),
      found.columns.map((each) =>
        h("option", { value: each.name, selected: each === usual }, each.name)));
    columns.show(found);
    suggest();
    context.say(`${found.name}: ${plural(found.rows, "row")}, ${plural(found.width, "column")}.`);
  }

  async function submit(event) {
    event.preventDefault();
    if (dataset === null) return;
    create.disabled = true;
    fill(alertBox);
    try {
      const study = await post("/studies", {
        name: name.input.value,
        data: {
          dataset: dataset.id, target: target.input.value, types: columns.types(), split: more.split(),
          ...(evaluation.task() && evaluation.isSet() && { task: evaluation.task() }),
        },
        ...(evaluation.metric() && { metric: evaluation.metric() }),
        candidates: Number(count.input.value),
        ...more.body(),
        ...(owner() && { tenant: owner() }),
      });
      // If the user has left the page since, do not navigate.
      if (!context.signal.aborted) location.hash = address("studies", study.id);
    } catch (error) {
      if (context.signal.aborted) return;
      fill(alertBox, notice("bad", error.message));
      alertBox.scrollIntoView({ block: "nearest" });
      create.disabled = false;
    }
  }

  const [given] = context.parameters; // the id of a dataset
  if (given && tenant) {
    const { tenant: name } = await context.get(`/datasets/${encodeURIComponent(given)}`);
    if (name) tenant.input.value = name;
  }
  const data = dataPart(context, owner, use, given);
  tenant?.input.addEventListener("change", () => data.reset());
  fill(details,
    columns.node,
    panel("Study settings",
      h("div.fields", {}, target.node, evaluation.nodes, name.node, count.node),
      more.node, alertBox, h("div.actions", {}, create)));
  context.show("New study", heading("New study"),
    h("form.form", { onsubmit: submit },
      panel("Data", tenant?.node, data.node), details));
}

// Task and metric: the defaults of the server, which the user can override.
function evaluationPart(metrics, change) {
  let inferred = null;
  let target = null;
  const task = field("Task", h("select", { name: "task" },
    h("option", { value: "" }, "Inferred from the column"),
    h("option", { value: "classification" }, "Classification: predict a class"),
    h("option", { value: "regression" }, "Regression: predict a number")));
  const metric = field("Metric", h("select", { name: "metric" }));
  const byName = new Map(metrics.map((each) => [each.name, each]));

  function drawMetrics() {
    const before = metric.input.value;
    const selectedTask = task.input.value || inferred;
    const applicable = metrics.filter((each) => !selectedTask || each.task === selectedTask);
    fill(metric.input, h("option", { value: "" }, selectedTask
      ? `Default (${defaultMetric(selectedTask, target)})` : "Default for the task"),
    applicable.map((each) => h("option", { value: each.name, selected: each.name === before }, each.name)));
    drawHints();
  }

  function drawHints() {
    change();
    const chosen = byName.get(metric.input.value);
    metric.hint.textContent = chosen
      ? `${chosen.title}. Score: ${chosen.score}.` : "Larger scores are better.";
    task.hint.textContent = task.input.value || !inferred ? "" : `Inferred: ${inferred}.`;
  }

  task.input.addEventListener("change", drawMetrics);
  metric.input.addEventListener("change", drawHints);
  return {
    nodes: [task.node, metric.node],
    task: () => task.input.value || byName.get(metric.input.value)?.task || inferred,
    // Whether to send the task; otherwise the server infers it.
    isSet: () => task.input.value !== "" || metric.input.value !== "",
    metric: () => metric.input.value,
    suggest(column, type, rows) {
      target = column;
      inferred = column ? guess(column, type, rows) : null;
      drawMetrics();
    },
  };
}

// The metric that the server would choose: if a class is rare, accuracy says little.
function defaultMetric(task, target) {
  if (task === "regression") return "r2";
  const counts = (target?.values ?? []).map(([, count]) => count);
  if (!target || counts.length !== target.distinct) return "accuracy";
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (Math.min(...counts) * counts.length >= 0.4 * total) return "accuracy";
  return counts.length === 2 ? "average-precision" : "balanced-accuracy";
}

// The task that the server would infer.
function guess(column, override, rows) {
  const type = override || column.type;
  if (["category", "any-spelling", "yes-no"].includes(type) || !column.numeric) return "classification";
  if (override === "number" || override === "decimal-comma" || !column.whole) return "regression";
  return column.distinct <= 20 && 2 * column.distinct <= rows ? "classification" : "regression";
}
