// The trials of a study, newest first, updated live.

import { fill, h } from "/assets/dom.js";
import { clock, duration, known, percent, score } from "/assets/format.js";
import { badge, notice, panel, table } from "/assets/parts.js";
import { toDecision } from "/assets/links.js";
import { logButton } from "/assets/trial_log.js";

const PAGE_SIZE = 100;

export function trials(context, study) {
  const found = new Map();
  let next = null;
  const list = table("Trials, newest first", [
    { name: "Model", value: (trial) => trial.model, show: (trial) => trial.model },
    { name: "State", value: (trial) => trial.state, show: stateCell },
    { name: "Score", align: "right", value: (trial) => trial.score, show: (trial) => score(trial.score) },
    { name: "Device", align: "nowrap", value: (trial) => trial.device, show: (trial) => trial.device },
    { name: "Started", align: "right", value: (trial) => trial.started,
      show: (trial) => clock(trial.started) },
    { name: "Duration", align: "right", value: (trial) => took(trial), show: (trial) => duration(took(trial)) },
    { name: "Predicted", align: "right", value: (trial) => trial.cost,
      show: (trial) => duration(trial.cost) },
    { name: "Details", show: (trial) => h("span.links", {},
      toDecision(trial.id, "Why", h("span.visually-hidden", {}, ` ${trial.model}`)), " ",
      trial.state !== "running" && logButton(context, trial)) },
  ], { key: (trial) => trial.id, empty: "No trials yet: the first starts when a device is free.",
    order: { by: "Started", down: true } });
  const alertBox = h("div", { role: "alert" });
  const more = h("button", { type: "button", hidden: true, onclick: () => older() }, "Older trials");
  const node = panel("Trials", h("div.tall", {}, list.node), h("div.actions", {}, more), alertBox);

  const path = (after) => `/trials?study=${encodeURIComponent(study)}&limit=${PAGE_SIZE}` +
    (after ? `&after=${encodeURIComponent(after)}` : "");

  function draw() {
    list.set([...found.values()]);
  }

  async function read() {
    const page = await context.get(path(null));
    if (!found.size) next = page.next;
    // The response may be older than the event of a trial's end.
    for (const trial of page.items) if (!known(found.get(trial.id)?.ended)) found.set(trial.id, trial);
    more.hidden = next === null;
    draw();
  }

  async function older() {
    more.disabled = true;
    fill(alertBox);
    try {
      const page = await context.get(path(next));
      next = page.next;
      for (const trial of page.items) if (!found.has(trial.id)) found.set(trial.id, trial);
      draw();
    } catch (error) {
      if (!context.signal.aborted) fill(alertBox, notice("bad", error.message));
    } finally {
      more.disabled = false;
      more.hidden = next === null;
    }
  }

  // Update the duration of running trials.
  context.every(1, () => [...found.values()].some((trial) => trial.state === "running") && draw());
  const redraw = context.renewer(async () => draw(), 0.5);
  return {
    node,
    read,
    take(event) {
      found.set(event.id, event); // the event holds the current state of the trial
      redraw();
    },
  };
}

function took(trial) {
  const until = trial.ended ?? Date.now() / 1000;
  return Math.max(0, until - trial.started);
}

function stateCell(trial) {
  const progress = trial.state === "running" && known(trial.progress) && trial.progress > 0
    ? percent(trial.progress) : "";
  return h("span.state", {}, badge(trial.state), progress,
    trial.reason && h("span.reason", {}, trial.reason));
}
