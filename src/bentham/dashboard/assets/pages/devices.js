// The devices, what each runs, and for whom. For operators.

import { address, h, link } from "/assets/dom.js";
import { clip } from "/assets/fitted.js";
import { clock, duration, known, plural, whole } from "/assets/format.js";
import { toDecision, toStudy } from "/assets/links.js";
import { badge, emptyPanel, heading, table } from "/assets/parts.js";

const MAX_TRIALS = 10_000;

export async function open(context) {
  let skew = 0; // of the server's clock
  const runs = new Map(); // a trial -> the trial with the name of its study
  const now = () => Date.now() / 1000 + skew;
  const list = table("List of devices", [
    { name: "Device", value: (each) => each.name, show: (each) => each.name },
    { name: "Kind", value: (each) => each.kind, show: (each) => each.kind || "–" },
    { name: "State", value: stateOf, show: (each) => badge(stateOf(each)) },
    { name: "Runs", value: (each) => run(each)?.model ?? null,
      show: (each) => (run(each) ? toDecision(each.trial, clip(run(each).model)) : "–") },
    { name: "Study", value: (each) => run(each)?.name ?? null,
      show: (each) => (run(each) ? toStudy(run(each).study, run(each).name) : "–") },
    { name: "Tenant", value: (each) => run(each)?.tenant ?? null, show: (each) => run(each)?.tenant ?? "–" },
    { name: "Since", align: "right", value: (each) => run(each)?.started ?? null,
      show: (each) => (run(each) ? clock(run(each).started) : "–") },
    { name: "Expected", align: "right", value: (each) => run(each)?.cost ?? null,
      show: (each) => duration(run(each)?.cost) },
    { name: "Device time", align: "right", value: used, show: (each) => duration(used(each)) },
    { name: "Last seen", align: "right", value: (each) => each.seen, show: (each) => `${seen(each)}` },
  ], { key: (each) => each.name, order: { by: "Device", down: false } });
  const counts = h("p.summary");
  const panel = h("div.panel", {}, counts, list.node);
  const empty = emptyPanel("No devices",
    h("p", {}, "No trials run. Start a worker on a machine that can reach this server: ",
      h("code", {}, "bentham worker"), "."),
    h("p", {}, "It needs a token of role device: ", link(address("tokens"), "Tokens"), "."));
  const body = h("div");
  let devices = [];

  function run(device) {
    return device.trial === null ? undefined : runs.get(device.trial);
  }

  function used(device) {
    const trial = run(device);
    return device.busy_seconds + (trial ? Math.max(0, now() - trial.started) : 0);
  }

  function seen(device) {
    const seconds = now() - device.seen;
    return seconds < 60 ? "now" : `${duration(seconds)} ago`;
  }

  function draw() {
    body.replaceChildren(devices.length ? panel : empty);
    const away = devices.filter((each) => stateOf(each) === "away").length;
    const busy = devices.filter((each) => stateOf(each) === "busy").length;
    counts.textContent = `${plural(devices.length, "device")}: ${whole(busy)} busy, ` +
      `${whole(devices.length - busy - away)} idle${away ? `, ${whole(away)} away` : ""}.`;
    list.set(devices);
  }

  async function read() {
    const [found, running] = await Promise.all([
      context.get("/devices"), context.get(`/timeline?seconds=1&limit=${MAX_TRIALS}`),
    ]);
    skew = running.time - Date.now() / 1000;
    runs.clear();
    for (const trial of running.trials) if (!known(trial.ended)) runs.set(trial.id, trial);
    devices = found.items;
    draw();
  }

  await read();
  context.show("Devices", heading("Devices"), body);
  const reread = context.renewer(read, 2);
  context.listen((event) => {
    if (event === null || event.kind.startsWith("trial-") || event.kind.startsWith("device-")) reread();
  });
  context.every(5, draw);
  context.every(15, reread);
}

const stateOf = (device) => (device.presence === "away" ? "away" : device.state);
