// The overview, suitable for a wall display. A tenant's begins with its studies, an operator's with the
// devices and for whom they work.

import { address, h, link } from "/assets/dom.js";
import { clip } from "/assets/fitted.js";
import { clock, duration, number, percent, plural, score, whole } from "/assets/format.js";
import {
  badge, choice, emptyPanel, figure, heading, meter, notice, panel, table, tile, usage,
} from "/assets/parts.js";
import { latestStudies } from "/assets/pages/latest_studies.js";
import { timeline } from "/assets/timeline.js";
import { trendFigure } from "/assets/trend.js";

const RANGES = [[300, "5 min"], [3600, "1 h"], [21600, "6 h"], [86400, "24 h"]];
const POINTS = 300;
const LATEST = 8;
const MAX_OWNERS = 6; // tenants named in the sentence about the devices
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
    devices: tile("Devices busy"),
    running: tile("Trials running"),
    queue: tile("Models waiting"),
    throughput: tile("Trials ended"),
    happiness: tile("Happiness (estimate)", "of the way from the baselines to the best models"),
    regret: tile("Mean regret (estimate)"),
    latency: tile("Decision time (median)"),
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
  const work = h("p");
  const studies = admin ? null : latestStudies(context);

  async function readOverview() {
    const found = await context.get("/overview");
    state.skew = found.time - Date.now() / 1000;
    showTiles(tiles, found);
    shares.set(found.tenants);
    if (admin) work.textContent = workText(found);
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
    const away = bars.away();
    const text = `${plural(trials.length, "trial")} in the last ${duration(state.range)}: ` +
      `${count("running")} running, ${count("complete")} complete, ${count("failed")} failed, ` +
      `${count("lost")} lost.` + (state.cut || bars.cut() ? " There are more; the newest are shown." : "") +
      " Pale ends show the expected end; ✕ failed, ? lost." +
      (away.length ? ` Away: ${away.join(", ")}.` : "");
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
    } else if (event.kind === "study-renamed") {
      state.names.set(event.id, event.name);
      renewTimeline();
    } else if (event.kind.startsWith("trial-")) {
      state.pendingEvents?.push(event);
      apply(event);
      renewDescription();
    }
    studies?.take(event);
    renewOverview();
    renewTrend();
  });

  const [found] = await Promise.all([readOverview(), readTrend(), readTimeline(), studies?.read()]);
  context.every(1, () => bars.draw());
  context.every(15, renewOverview);
  context.every(30, renewTrend);
  const open = found.tenants.reduce((sum, tenant) => sum + tenant.open_studies, 0);
  const isEmpty = open === 0 && bars.trials.size === 0 && found.decisions === 0;
  const timeRange = h("div.range", {}, h("span.quiet", {}, "Time range of the figures:"), ranges);
  const parts = admin
    ? [work, row, meaning(), timeRange, timelineFigure.node, panel("Tenants", shares.node), trend.node]
    : [studies.node, row, meaning(), timeRange, trend.node, timelineFigure.node, panel("Your tenant", shares.node)];
  context.show("Overview",
    h("div", {}, heading("Overview", !admin && h("a.button.main", { href: "#/new" }, "New study")), warning),
    isEmpty ? [row, noStudies(admin)] : [...parts, panel("Latest trials", latest.node)]);
  if (isEmpty) {
    context.listen((event) => event?.kind === "study-created" && context.reload());
  }
}

// What regret and happiness are, where they are first used.
function meaning() {
  return h("p.summary", {},
    h("strong", {}, "Regret"), " is how far a study's best score is below the best score that its models ",
    "are expected to reach: 0 means that nothing better is expected. ",
    h("strong", {}, "Happiness"), " is the share of the way that is done: 0 % at the baseline, which is ",
    "the score of the best constant prediction, and 100 % at that expected best.");
}

// For whom the devices work, and what waits.
function workText(found) {
  const { busy, present } = found.devices;
  const owners = found.tenants.filter((tenant) => tenant.running_trials > 0)
    .sort((one, other) => other.running_trials - one.running_trials);
  const listed = owners.slice(0, MAX_OWNERS).map((tenant) => `${whole(tenant.running_trials)} for ${tenant.tenant}`);
  const rest = owners.slice(MAX_OWNERS).reduce((sum, tenant) => sum + tenant.running_trials, 0);
  if (rest) listed.push(`${whole(rest)} for others`);
  const { untried_arms: models, open_studies: open } = found.queue;
  return `${whole(busy)} of ${plural(present, "device")} ${busy === 1 ? "works" : "work"}` +
    `${listed.length ? `: ${listed.join(", ")}` : ""}. ` +
    `${plural(models, "model")} of ${plural(open, "open study", "open studies")} ${models === 1 ? "waits" : "wait"}.`;
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

function trialTable(caption, admin, maxRows) {
  return table(caption, [
    { name: "Model", show: (trial) => clip(trial.model) },
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
      show: (one) => usage(whole(one.running_trials) + limit(one.limits.running_trials, whole),
        one.reached === "running-trials") },
    { name: "Device time", align: "right", value: (one) => one.device_seconds,
      show: (one) => duration(one.device_seconds) },
    { name: "Today", align: "right", value: (one) => one.device_seconds_today,
      show: (one) => usage(duration(one.device_seconds_today) +
        limit(one.limits.device_seconds_per_day, duration), one.reached === "device-time") },
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
