// The overview, suitable for a wall display: everything for an operator, its own part for a tenant.

import { chart, timeTicks } from "/assets/chart.js";
import { address, h, link } from "/assets/dom.js";
import { clock, duration, known, number, percent, plural, score, whole } from "/assets/format.js";
import {
  badge, choice, emptyPanel, figure, heading, meter, notice, panel, table, tile,
} from "/assets/parts.js";
import { timeline } from "/assets/timeline.js";

const RANGES = [[300, "5 min"], [3600, "1 h"], [21600, "6 h"], [86400, "24 h"]];
const POINTS = 300;
const LATEST = 12;
const RANGE_KEY = "bentham-range";

export async function open(context) {
  const admin = context.session.role === "admin";
  const state = { range: storedRange(), skew: 0, names: new Map(), pendingEvents: null };
  const now = () => Date.now() / 1000 + state.skew;
  // By default, show everything, up to a day.
  if (state.range === null) {
    const { time, since } = await context.get("/trend?points=2");
    state.range = (RANGES.find(([seconds]) => time - since <= seconds) ?? RANGES.at(-1))[0];
  }

  const tiles = {
    happiness: tile("Happiness (estimate)", "of the initial regret is gone"),
    regret: tile("Mean regret (estimate)"),
    devices: tile("Devices busy"),
    running: tile("Trials running"),
    throughput: tile("Trials ended"),
    latency: tile("Decision time (median)"),
    queue: tile("Untried models"),
  };
  const hiddenTiles = admin ? ["running"] : ["devices", "latency"];
  const row = h("div.tiles", {}, Object.entries(tiles)
    .filter(([name]) => !hiddenTiles.includes(name)).map(([, each]) => each.node));
  const warning = h("div", { role: "status" });

  const trend = trendFigure(admin);
  const bars = timeline({
    colourBy: (trial) => (admin ? trial.tenant : trial.name ?? trial.study),
    say: context.say,
    now,
    signal: context.signal,
  });
  const listed = trialTable("Trials shown", admin, 200);
  const timelineFigure = figure("Devices", bars.node, { table: listed });
  const ranges = choice("Time range", RANGES, state.range, (chosen) => {
    state.range = chosen;
    storeRange(chosen);
    renewTrend();
    renewTimeline();
  });
  const latest = trialTable("List of latest trials", admin, LATEST);
  const shares = tenantTable(admin);

  async function readOverview() {
    const found = await context.get("/overview");
    state.skew = found.time - Date.now() / 1000;
    showTiles(tiles, found);
    shares.set(found.tenants);
    const idle = admin && found.devices.present === 0 && !found.no_device; // the banner says the rest
    warning.replaceChildren(...(idle ? [noDevices()] : []));
    return found;
  }

  async function readTrend() {
    const found = await context.get(`/trend?seconds=${state.range}&points=${POINTS}`);
    trend.set(found);
  }

  async function readTimeline() {
    const pendingEvents = (state.pendingEvents = []);
    const range = state.range;
    const found = await context.get(`/timeline?seconds=${range}`);
    for (const trial of found.trials) state.names.set(trial.study, trial.name);
    bars.set(found, range);
    pendingEvents.forEach(apply); // they may be newer than the response
    if (state.pendingEvents === pendingEvents) state.pendingEvents = null;
    state.cut = found.cut;
    describeTimeline();
  }

  function apply(event) {
    bars.put({ ...event, name: state.names.get(event.study) ?? event.study });
    // The name of a study without recent trials must be read from the server.
    if (!state.names.has(event.study)) renewTimeline();
  }

  function describeTimeline() {
    const trials = [...bars.trials.values()];
    const count = (name) => trials.filter((trial) => trial.state === name).length;
    const text = `${plural(trials.length, "trial")} in the last ${duration(state.range)}: ` +
      `${count("running")} running, ${count("complete")} complete, ${count("failed")} failed, ` +
      `${count("lost")} lost.` + (state.cut || bars.cut() ? " There are more; the newest are shown." : "") +
      " Pale ends show the expected end; ✕ failed, ? lost.";
    timelineFigure.summarise(text);
    bars.describe(`Device timeline. ${text}`);
    const time = (trial) => trial.ended ?? trial.started;
    const newest = trials.sort((one, other) => time(other) - time(one));
    latest.set(newest.slice(0, LATEST));
    if (timelineFigure.details.open) listed.set(newest.slice(0, 200));
  }

  const renewOverview = context.renewer(readOverview, 2);
  const renewTrend = context.renewer(readTrend, 5);
  const renewTimeline = context.renewer(readTimeline, 2);
  const renewDescription = context.renewer(async () => describeTimeline(), 1);
  timelineFigure.details.addEventListener("toggle", describeTimeline);

  context.listen((event) => {
    if (event === null) {
      renewTimeline();
    } else if (event.kind === "study-created") {
      state.names.set(event.id, event.name);
    } else if (event.kind.startsWith("device-")) {
      renewTimeline();
    } else if (event.kind.startsWith("trial-")) {
      state.pendingEvents?.push(event);
      apply(event);
      renewDescription();
    }
    renewOverview();
    renewTrend();
  });

  const [found] = await Promise.all([readOverview(), readTrend(), readTimeline()]);
  context.every(1, () => bars.draw());
  context.every(15, renewOverview);
  context.every(30, renewTrend);
  const studies = found.tenants.reduce((sum, tenant) => sum + tenant.open_studies, 0);
  const isEmpty = studies === 0 && bars.trials.size === 0 && found.decisions === 0;
  context.show("Overview",
    heading("Overview", ranges),
    warning,
    row,
    isEmpty ? noStudies(admin) : [
      trend.node,
      timelineFigure.node,
      admin ? panel("Tenants", shares.node) : panel("Your tenant", shares.node),
      panel("Latest trials", latest.node),
    ]);
  if (isEmpty) {
    context.listen((event) => event?.kind === "study-created" && context.reload());
  }
}

function storedRange() {
  try {
    const stored = Number(localStorage.getItem(RANGE_KEY));
    return RANGES.some(([seconds]) => seconds === stored) ? stored : null;
  } catch {
    return null;
  }
}

function storeRange(seconds) {
  try {
    localStorage.setItem(RANGE_KEY, String(seconds));
  } catch {
    // Without localStorage it lasts until the page is closed.
  }
}

function showTiles(tiles, found) {
  const lastTenMinutes = found.throughput.last_ten_minutes;
  tiles.happiness.set(percent(found.happiness));
  tiles.regret.set(number(found.regret_estimate),
    `80 % band ${number(found.regret_low)} to ${number(found.regret_high)}`);
  const running = found.tenants.reduce((sum, tenant) => sum + tenant.running_trials, 0);
  tiles.running.set(whole(running));
  tiles.throughput.set(whole(lastTenMinutes),
    `in the last 10 min, ${whole(found.throughput.last_hour)} in the last hour`);
  tiles.queue.set(whole(found.queue.untried_arms),
    `in ${plural(found.queue.open_studies, "open study", "open studies")}`);
  if (found.devices) {
    const away = found.devices.away ? `${whole(found.devices.away)} away; ` : "";
    const lost = found.leases_lost ? `; ${plural(found.leases_lost, "trial")} lost so far` : "";
    tiles.devices.set(`${whole(found.devices.busy)} / ${whole(found.devices.present)}`,
      `${away}${plural(found.decisions, "decision")}${lost}`);
  }
  if (found.latency) {
    tiles.latency.set(duration(found.latency.median),
      `99th percentile: ${duration(found.latency.p99)}`);
  }
}

function trendFigure(admin) {
  const lines = chart({
    label: "Mean regret over time (estimate)",
    x: { format: (time) => clock(time), tick: (time) => clock(time, time % 60 !== 0), ticks: timeTicks },
    y: { format: (value) => number(value) },
  });
  const columns = [
    { name: "Time", show: ([time]) => clock(time) },
    { name: "Mean regret", align: "right", show: (row) => number(row[1]) },
    { name: "Low", align: "right", show: (row) => number(row[2]) },
    { name: "High", align: "right", show: (row) => number(row[3]) },
    { name: "Studies", align: "right", show: (row) => whole(row[4]) },
  ];
  if (admin) {
    columns.push({ name: "Round robin", align: "right", show: (row) => number(row[5]) });
  }
  const rows = table("Mean regret over time (estimate)", columns, { key: ([time]) => time });
  const shown = figure("Mean regret over time", lines.node, {
    extras: h("span.estimate", {
      title: "A study's best score is unknown until all its models have been tried, so it is estimated.",
    }, "estimate"),
    table: rows,
  });
  let last = null;

  function list() {
    if (!shown.details.open || last === null) return;
    const step = Math.max(1, Math.ceil(last.times.length / 50));
    const places = last.times.map((_, place) => place).filter((place) => place % step === 0);
    rows.set(places.map((place) => [last.times[place], last.regret[place], last.low[place],
      last.high[place], last.studies[place], last.round_robin?.[place] ?? null]));
  }
  shown.details.addEventListener("toggle", list);

  return {
    node: shown.node,
    set(found) {
      last = found;
      const { times, regret, low, high, round_robin: roundRobin } = found;
      lines.set({
        lines: [
          ...(roundRobin ? [{ name: "Round robin with the same trials", style: "faint", x: times, y: roundRobin }] : []),
          { name: "Mean regret (estimate, 80 % band)", style: "main", x: times, y: regret },
        ],
        bands: [{ style: "main", x: times, low, high }],
        ends: { y: [0] },
      });
      const text = trendSummary(found);
      shown.summarise(text);
      lines.describe(text);
      list();
    },
  };
}

function trendSummary({ times, regret, low, high, round_robin: roundRobin }) {
  const end = times.length - 1;
  if (end < 0 || !known(regret[end])) return "No study was open in this time range.";
  const first = regret.findIndex(known);
  const band = `80 % band ${number(low[end])} to ${number(high[end])}`;
  let text = `On average, studies are an estimated ${number(regret[end])} from their best ` +
    `(${band}); at ${clock(times[first], false)} it was ${number(regret[first])}.`;
  if (roundRobin && known(roundRobin[end])) {
    text += ` With the same trials, round robin would be at ${number(roundRobin[end])}.`;
  }
  return text;
}

function trialTable(caption, admin, maxRows) {
  return table(caption, [
    { name: "Model", show: (trial) => trial.model },
    { name: "Study", show: (trial) => link(address("studies", trial.study), trial.name) },
    ...(admin ? [{ name: "Tenant", show: (trial) => trial.tenant }] : []),
    { name: "Device", show: (trial) => trial.device },
    { name: "State", show: (trial) => badge(trial.state) },
    { name: "Started", show: (trial) => clock(trial.started) },
    { name: "Duration", align: "right", show: took },
    { name: "Score", align: "right", show: (trial) => score(trial.score) },
    { name: "Decision", show: (trial) => h("a", {
      href: address("decisions", trial.id),
      "aria-label": `Why ${trial.model} for ${trial.name}`,
    }, "why") },
  ], { key: (trial) => trial.id, maxRows, empty: "No trials yet." });
}

function took(trial) {
  if (trial.ended === null) return `~ ${duration(trial.cost)}`;
  return duration(trial.ended - trial.started);
}

function tenantTable(admin) {
  const limit = (value, show) => (value === null || value === undefined ? "" : ` of ${show(value)}`);
  const columns = [
    { name: "Tenant", value: (one) => one.tenant, show: (one) => one.tenant },
    { name: "Happiness", align: "right", value: (one) => one.happiness,
      show: (one) => meter(one.happiness, percent(one.happiness)) },
    { name: "Mean regret", align: "right", value: (one) => one.regret_estimate,
      show: (one) => number(one.regret_estimate) },
    { name: "Open studies", align: "right", value: (one) => one.open_studies,
      show: (one) => whole(one.open_studies) },
    { name: "Running", align: "right", value: (one) => one.running_trials,
      show: (one) => whole(one.running_trials) + limit(one.limits.running_trials, whole) },
    { name: "Device time", align: "right", value: (one) => one.device_seconds,
      show: (one) => duration(one.device_seconds) },
    { name: "Today", align: "right", value: (one) => one.device_seconds_today,
      show: (one) => duration(one.device_seconds_today) +
        limit(one.limits.device_seconds_per_day, duration) },
    { name: "Weight", align: "right", value: (one) => one.weight, show: (one) => number(one.weight) },
  ];
  if (admin) {
    columns.splice(5, 0, { name: "Share", align: "right", value: (one) => one.share,
      show: (one) => meter(one.share, percent(one.share)) });
  }
  return table(admin ? "List of tenants" : "Figures of your tenant", columns, {
    key: (one) => one.tenant,
    order: admin ? { by: "Share", down: true } : undefined,
    empty: "No tenants yet.",
  });
}

function noDevices() {
  return notice("warn", "No device is present, so no trials run. Start a worker on a machine ",
    "that can reach this server: ", h("code", {}, "bentham worker"), ".");
}

function noStudies(admin) {
  return emptyPanel("No studies yet",
    h("p", {}, admin
      ? "Give a tenant a token, or create a study for one; its trials appear here."
      : "Upload a table and choose the column to predict; the trials appear here."),
    h("p", {}, h("a.button.main", { href: "#/new" }, "New study")));
}
