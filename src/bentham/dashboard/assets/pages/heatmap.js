// Studies by models: observed scores, the posterior, and the EI rate.

import { address, fill, h, link, unique } from "/assets/dom.js";
import { number, plural, score, whole } from "/assets/format.js";
import { heat } from "/assets/heat.js";
import { KINDS, OBSERVED, RUNNING, FAILED, Rows } from "/assets/heat_rows.js";
import { badge, choice, emptyPanel, figure, heading, table } from "/assets/parts.js";
import { endsOf, isDark, ramp } from "/assets/ramp.js";

const PAGE_SIZE = 50;
const BATCH_SIZE = 20;
const MAX_STUDIES = 5000; // maximum number of studies
const ORDERS = [["newest", "Newest first"], ["name", "By name"], ["best", "Best score first"],
  ["uncertainty", "Most uncertain first"]];

export async function open(context) {
  const rows = new Rows();
  const first = await context.get(`/heatmap?limit=${PAGE_SIZE}`);
  rows.add(first);
  rows.arrange();
  const page = build(context, rows);
  context.show("Heatmap", heading("Heatmap"), page.node);
  page.renew();
  follow(context, rows, page, first.next);
}

// Read the other pages one after the other, then keep rows up to date with events.
function follow(context, rows, page, next) {
  const changed = new Set();
  let reading = false;
  let quiet = true; // whether no event has arrived since the visible rows were last refreshed

  async function readRemaining(after) {
    reading = true;
    try {
      while (after !== null && rows.size < MAX_STUDIES) {
        page.progress(`${plural(rows.size, "study", "studies")} loaded, loading more …`);
        const more = await context.get(`/heatmap?limit=${PAGE_SIZE}&after=${encodeURIComponent(after)}`);
        if (rows.add(more)) page.rearrange();
        after = more.next;
      }
      page.progress(after === null ? "" : `The first ${plural(MAX_STUDIES, "study", "studies")} are shown; there are more.`);
    } catch (error) {
      if (context.signal.aborted) return;
      page.progress(`Not all studies could be loaded: ${error.message}`, () => readRemaining(after));
    }
    reading = false;
    plan(); // for events that arrived meanwhile
  }

  const plan = context.renewer(async () => {
    if (reading || !changed.size) return;
    // Rows in view come first.
    const visibleRows = page.visibleRows().filter((row) => changed.has(row.study)).map((row) => row.study);
    const batch = [...new Set([...visibleRows, ...changed])].slice(0, BATCH_SIZE);
    for (const study of batch) changed.delete(study);
    try {
      const found = await context.get(`/heatmap?studies=${batch.map(encodeURIComponent).join(",")}`);
      if (rows.add(found, true)) page.rearrange();
      else page.renewValues();
    } catch (error) {
      for (const study of batch) changed.add(study);
      throw error;
    } finally {
      if (changed.size) plan();
    }
  }, 2);

  context.listen(async (event) => {
    if (event === null) {
      for (const row of rows.all) changed.add(row.study);
      if (!reading) await readAll();
    } else {
      const study = event.kind.startsWith("study-") ? event.id : event.study;
      if (typeof study === "string" && study) changed.add(study);
      quiet = false;
    }
    plan();
  });

  // After a lost connection, the events of some studies may have been missed.
  async function readAll() {
    changed.clear();
    const newest = await context.get(`/heatmap?limit=${PAGE_SIZE}`).catch(() => null);
    if (newest === null) return;
    if (rows.add(newest, true)) page.rearrange();
    await readRemaining(newest.next);
    page.renewValues();
  }

  // A score of one study slightly changes the posterior of others, for which there is no event.
  context.every(20, () => {
    if (quiet) return;
    quiet = true;
    for (const row of page.visibleRows().slice(0, BATCH_SIZE)) changed.add(row.study);
    plan();
  });

  if (next !== null) readRemaining(next);
}

function build(context, rows) {
  const admin = context.session.role === "admin";
  // `metric` is null for all metrics; scores of different metrics never share a colour scale.
  const state = { kind: "observed", perStudy: false, order: "newest", text: "", metric: undefined };
  let selected = null; // the selected cell: { study, slot }
  const note = h("p.quiet", { role: "status" });
  const legend = h("div.heat-legend");
  const empty = h("div", { hidden: true });
  const detail = rowTable();

  const map = heat(rows, {
    label: "Studies by models",
    describeCell: (row, slot) => describeCell(rows, row, slot, admin),
    open: (row) => (location.hash = address("studies", row.study)),
    mark(cell) {
      selected = { study: rows.shown[cell.row].study, slot: cell.slot };
      fillDetail();
    },
    signal: context.signal,
  });

  const filter = h("input", { type: "search", id: unique("filter"), placeholder: admin ? "Study or tenant" : "Study",
    oninput: () => {
      state.text = filter.value;
      rearrange();
    } });
  const order = h("select", { id: unique("order"), onchange: () => {
    state.order = order.value;
    rearrange();
  } }, ORDERS.map(([value, name]) => h("option", { value }, name)));
  const metric = h("select", { id: unique("metric"), onchange: () => {
    state.metric = metric.value || null;
    rearrange();
  } });
  const perStudy = h("input", { type: "checkbox", id: unique("own"), onchange: () => {
    state.perStudy = perStudy.checked;
    renewValues();
  } });
  const zoom = (way, sign, name) => h("button", { type: "button", "aria-label": name, title: name,
    onclick: () => context.say(`Cell size: ${map.zoom(way)} pixels`) }, sign);

  const controls = h("div.heat-controls", {},
    choice("What the colours show", Object.entries(KINDS).map(([kind, { name }]) => [kind, name]),
      state.kind, (kind) => {
        state.kind = kind;
        renewValues();
      }),
    h("div.extras", {}, h("label.visually-hidden", { for: filter.id }, "Filter"), filter,
      h("label.visually-hidden", { for: metric.id }, "Metric"), metric,
      h("label.visually-hidden", { for: order.id }, "Order"), order,
      h("span", {}, perStudy, " ", h("label", { for: perStudy.id }, "Colour scale per study")),
      h("div.choice", { role: "group", "aria-label": "Cell size" },
        zoom(-1, "−", "Smaller cells"), zoom(0, "Fit", "Fit to width"), zoom(1, "+", "Larger cells"))));
  const picture = figure("Studies by models", h("div", {}, controls, legend, map.node, empty),
    { table: { node: detail.node } });
  picture.details.querySelector("summary").textContent = "The selected study as a table";
  picture.details.addEventListener("toggle", fillDetail);

  function fillDetail() {
    if (!picture.details.open) return;
    const row = (selected && rows.get(selected.study)) ?? rows.shown[0];
    detail.set(rows, row, admin);
  }

  function drawMetrics() {
    const metrics = rows.metrics();
    if (state.metric === undefined && metrics.length) [[state.metric]] = metrics;
    const options = [...metrics.map(([name, count]) => [name, `${name} (${plural(count, "study", "studies")})`]),
      ...(metrics.length > 1 ? [["", "All metrics"]] : [])];
    const content = options.map(([, text]) => text).join("\n");
    if (metric.dataset.content === content) return;
    metric.dataset.content = content;
    fill(metric, options.map(([value, text]) =>
      h("option", { value, selected: value === (state.metric ?? "") }, text)));
  }

  // Whether each study has a colour scale of its own.
  const scaled = () => state.perStudy || state.metric === null;

  function rearrange() {
    drawMetrics();
    rows.arrange(state.order, state.text, state.metric);
    map.renew(selected);
    const none = rows.shown.length === 0;
    empty.hidden = !none;
    map.node.hidden = none;
    legend.hidden = none;
    if (none) fill(empty, rows.size ? noMatch() : noStudies());
    renewValues();
  }

  const noStudies = () => emptyPanel("No studies yet",
    h("p", {}, "A study is a dataset with its candidate models."), link("#/new", "Create a study"));
  const noMatch = () => emptyPanel("No study matches",
    h("p", {}, `None of ${plural(rows.size, "study", "studies")} matches the filter.`),
    h("button", { type: "button", onclick: () => {
      filter.value = state.text = "";
      rearrange();
      filter.focus();
    } }, "Show all"));

  // Update colours, descriptions and figures; the rows stay the same.
  function renewValues() {
    const { log } = KINDS[state.kind];
    const ends = endsOf(rows.shown.map((row) => row[state.kind]), log);
    Object.assign(map.display, {
      kind: state.kind,
      log,
      ends: scaled() ? null : ends ?? { low: 0, high: 0, log },
      show: state.kind === "rate" || state.kind === "sigma" ? (value) => number(value, 2)
        : (value) => (Math.abs(value) < 10 ? value.toFixed(3) : number(value)),
    });
    perStudy.checked = scaled();
    perStudy.disabled = state.metric === null;
    drawLegend(legend, state.kind, scaled(), ends);
    const text = summary(rows, state, ends);
    picture.summarise(text);
    map.grid.setAttribute("aria-label", `Studies by models. ${text}`);
    fillDetail();
    map.plan();
  }

  document.addEventListener("themechange", renewValues, { signal: context.signal });
  return {
    node: h("div.heat-page", {}, picture.node, note),
    renew: rearrange,
    renewValues() {
      // Rows keep their order while the user points at them.
      if (map.grid.matches(":hover") || map.grid.matches(":focus")) renewValues();
      else rearrange();
    },
    rearrange,
    visibleRows: map.visibleRows,
    progress(text, retry = null) {
      if (note.textContent !== text || retry) {
        fill(note, text, retry && [" ", h("button.small", { type: "button", onclick: retry }, "Try again")]);
      }
    },
  };
}

// The description of a cell, most important part first.
function describeCell(rows, place, slot, admin) {
  const row = rows.shown[place];
  const name = admin ? `${row.name} (${row.tenant})` : row.name;
  const cell = rows.cell(row, slot);
  if (cell === null) return [name, rows.models[rows.columns[slot]], "not a candidate of this study"];
  const parts = [name, cell.model];
  if (cell.state === "observed") parts.push(`observed ${score(cell.observed)}`);
  else {
    parts.push(cell.state);
    if (Number.isFinite(cell.mean)) parts.push(`mean ${score(cell.mean)} ± ${number(cell.sigma)}`);
    if (Number.isFinite(cell.rate)) parts.push(`EI rate alone ${number(cell.rate)} per second`);
  }
  return parts;
}

function summary(rows, state, ends) {
  if (!rows.shown.length) return "";
  const counts = new Uint32Array(4);
  for (const row of rows.shown) for (const each of row.states) counts[each] += 1;
  const [untried, running, observed, failed] = [...counts].map(whole);
  const { name } = KINDS[state.kind];
  const span = state.metric === null ? "Scores of different metrics are not comparable, so each study has its own scale."
    : ends === null ? `No ${name.toLowerCase()} is known yet.`
    : `${name}: ${show(state.kind, ends.low)} to ${show(state.kind, ends.high)} for the middle 96 %.`;
  return `${plural(rows.shown.length, "study", "studies")} by ${plural(rows.columns.length, "model")}: ` +
    `${observed} observed, ${running} running, ${failed} failed, ${untried} untried. ${span}`;
}

const show = (kind, value) => (kind === "rate" || kind === "sigma" ? number(value) : score(value));

function drawLegend(node, kind, perStudy, ends) {
  const bar = h("canvas.heat-bar", { width: 256, height: 1, "aria-hidden": "true" });
  const image = new ImageData(new Uint8ClampedArray(ramp(isDark()).buffer.slice(0)), 256, 1);
  bar.getContext("2d").putImageData(image, 0, 0);
  const [low, high] = perStudy ? ["each study's lowest", "its highest"]
    : ends === null ? ["–", "–"] : [show(kind, ends.low), show(kind, ends.high)];
  const without = kind === "observed" ? "untried" : kind === "rate" ? "tried" : null;
  fill(node,
    h("span.heat-scale", {}, low, bar, high, KINDS[kind].log ? " (log scale)" : ""),
    h("ul.heat-keys", {},
      without && h(`li.${without}`, {}, without),
      h("li.running", {}, "running"), h("li.failed", {}, "failed"), h("li.unlisted", {}, "not listed")));
}

// One row of the heatmap as a table.
function rowTable() {
  const title = h("p");
  const list = table("Models of the selected study", [
    { name: "Model", value: (cell) => cell.model, show: (cell) => cell.model },
    { name: "State", value: (cell) => cell.state, show: (cell) => badge(cell.state) },
    ...Object.entries(KINDS).map(([kind, { name }]) => ({
      name,
      align: "right",
      value: (cell) => (Number.isFinite(cell[kind]) ? cell[kind] : null),
      show: (cell) => show(kind, cell[kind]),
    })),
  ], { key: (cell) => cell.model });
  return {
    node: h("div", {}, title, list.node),
    set(rows, row, admin) {
      if (!row) {
        fill(title, "No study is shown.");
        list.set([]);
        return;
      }
      fill(title, h("a", { href: address("studies", row.study) }, row.name),
        admin ? ` of ${row.tenant}: ` : ": ",
        `${plural(row.columns.length, "model")}, ${count(row, OBSERVED)} observed, ${count(row, RUNNING)} running, ${count(row, FAILED)} failed.`);
      list.set(Array.from(rows.columns.keys(), (slot) => rows.cell(row, slot)).filter(Boolean));
    },
  };
}

const count = (row, state) => row.states.reduce((sum, each) => sum + (each === state), 0);
