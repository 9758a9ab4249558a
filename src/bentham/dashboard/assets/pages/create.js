// The form for a new study: its data, the column to predict, the metric.

import { all, post } from "/assets/api.js";
import { address, fill, h } from "/assets/dom.js";
import { emptyPanel, heading, notice, panel } from "/assets/parts.js";
import { columnsPart } from "/assets/pages/create_columns.js";
import { dataPart } from "/assets/pages/create_data.js";
import { morePart } from "/assets/pages/create_more.js";
import { field } from "/assets/pages/create_field.js";

const DEFAULT_CANDIDATES = 40;
const MOST_CANDIDATES = 500;
const LONGEST_NAME = 200;
// Usual names of the column to predict; any other must be chosen by the user.
const USUAL = ["target", "label", "class", "y"];

export async function open(context) {
  const admin = context.session.role === "admin";
  const [tenants, metrics, algorithms] = await Promise.all([
    admin ? all("/tenants", 2000, { signal: context.signal }) : [],
    context.get("/metrics"), context.get("/algorithms"),
  ]);
  if (admin && !tenants.length) {
    context.show("New study", heading("New study"), emptyPanel("No tenants yet",
      h("p", {}, "A study belongs to a tenant. Create one first: ",
        h("code", {}, "bentham tenant create NAME"), ".")));
    return;
  }
  let dataset = null;
  const said = h("div", { role: "alert" });
  const details = h("div.stack", { hidden: true });
  const tenant = admin ? field("Tenant", h("select", {},
    tenants.map((each) => h("option", { value: each.name }, each.name))), "The owner of the study.") : null;
  const owner = () => (tenant ? tenant.input.value : null);
  const columns = columnsPart(() => suggest());
  const target = field("Column to predict", h("select", { required: true, name: "target" }));
  const judged = judgePart(metrics.items, () => more.suit(judged.task()));
  const name = field("Study name", h("input", {
    required: true, maxlength: LONGEST_NAME, name: "name", autocomplete: "off", size: "34",
  }));
  const count = field("Number of candidate models", h("input", {
    type: "number", min: 1, max: MOST_CANDIDATES, value: DEFAULT_CANDIDATES, required: true, name: "candidates",
  }), "The default of each algorithm comes first; more models take longer to try.");
  const more = morePart(algorithms.items);
  const create = h("button.main", { type: "submit" }, "Create the study");
  const named = { by: "page" }; // until the user enters a name

  name.input.addEventListener("input", () => (named.by = name.input.value ? "person" : "page"));
  target.input.addEventListener("change", () => suggest());

  function suggest() {
    const column = dataset.columns.find((each) => each.name === target.input.value);
    judged.suggest(column, columns.types()[column?.name], dataset.rows);
    columns.mark(target.input.value);
    more.suit(judged.task());
    if (named.by === "person") return;
    const stem = dataset.name.replace(/^.*:/, "").replace(/\.(csv|tsv|txt|parquet)$/i, "");
    name.input.value = (column ? `${stem}: ${column.name}` : stem).slice(0, LONGEST_NAME);
  }

  // A dataset was chosen; null if it was deselected.
  function use(found) {
    dataset = found;
    fill(said);
    details.hidden = found === null;
    if (found === null) return;
    const usual = found.columns.find((each) => USUAL.includes(each.name.toLowerCase()));
    fill(target.input, h("option", { value: "", disabled: true, selected: !usual }, "Choose a column"),
      found.columns.map((each) =>
        h("option", { value: each.name, selected: each === usual }, each.name)));
    columns.show(found);
    suggest();
    context.say(`${found.name}: ${found.rows} rows, ${found.width} columns.`);
  }

  async function submit(event) {
    event.preventDefault();
    if (dataset === null) return;
    create.disabled = true;
    fill(said);
    try {
      const study = await post("/studies", {
        name: name.input.value,
        data: {
          dataset: dataset.id, target: target.input.value, types: columns.types(),
          ...(judged.task() && judged.said() && { task: judged.task() }),
        },
        ...(judged.metric() && { metric: judged.metric() }),
        candidates: Number(count.input.value),
        ...more.body(),
        ...(owner() && { tenant: owner() }),
      });
      // If the user has left the page since, do not navigate.
      if (!context.signal.aborted) location.hash = address("studies", study.id);
    } catch (error) {
      if (context.signal.aborted) return;
      fill(said, notice("bad", error.message));
      said.scrollIntoView({ block: "nearest" });
      create.disabled = false;
    }
  }

  const data = dataPart(context, owner, use);
  tenant?.input.addEventListener("change", () => data.reset());
  fill(details,
    columns.node,
    panel("Study settings",
      h("div.fields", {}, target.node, judged.nodes, name.node, count.node),
      more.node, said, h("div.actions", {}, create)));
  context.show("New study", heading("New study"),
    h("form.form", { onsubmit: submit },
      panel("Data", tenant?.node, data.node), details));
}

// Task and metric: the defaults of the server, which the user can override.
function judgePart(metrics, change) {
  let likely = null;
  const task = field("Task", h("select", { name: "task" },
    h("option", { value: "" }, "Inferred from the column"),
    h("option", { value: "classification" }, "Classification: predict a class"),
    h("option", { value: "regression" }, "Regression: predict a number")));
  const metric = field("Metric", h("select", { name: "metric" }));
  const byName = new Map(metrics.map((each) => [each.name, each]));

  function offer() {
    const before = metric.input.value;
    const wanted = task.input.value || likely;
    const suited = metrics.filter((each) => !wanted || each.task === wanted);
    fill(metric.input, h("option", { value: "" }, wanted
      ? `Default (${wanted === "regression" ? "r2" : "accuracy"})` : "Default for the task"),
    suited.map((each) => h("option", { value: each.name, selected: each.name === before }, each.name)));
    tell();
  }

  function tell() {
    change();
    const chosen = byName.get(metric.input.value);
    metric.hint.textContent = chosen
      ? `${chosen.title}. Score: ${chosen.score}.` : "Larger scores are better.";
    task.hint.textContent = task.input.value || !likely ? "" : `Inferred: ${likely}.`;
  }

  task.input.addEventListener("change", offer);
  metric.input.addEventListener("change", tell);
  return {
    nodes: [task.node, metric.node],
    task: () => task.input.value || byName.get(metric.input.value)?.task || likely,
    // Whether to send the task; otherwise the server infers it.
    said: () => task.input.value !== "" || metric.input.value !== "",
    metric: () => metric.input.value,
    suggest(column, type, rows) {
      likely = column ? guess(column, type, rows) : null;
      offer();
    },
  };
}

// The task that the server would infer.
function guess(column, said, rows) {
  if (said === "category" || (!said && (column.type === "category" || !column.numeric))) return "classification";
  if (said === "number" || !column.whole) return "regression";
  return column.distinct <= 20 && 2 * column.distinct <= rows ? "classification" : "regression";
}
