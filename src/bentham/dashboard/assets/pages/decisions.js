// The latest decisions, updated live.

import { fill, h } from "/assets/dom.js";
import { clock, duration, number, score } from "/assets/format.js";
import { gain, rate } from "/assets/gain.js";
import { toDecision, toStudy } from "/assets/links.js";
import { badge, emptyPanel, heading, notice, table } from "/assets/parts.js";

const PAGE_SIZE = 50;
const MAX_DECISIONS = 500;
const READ_SECONDS = 2;
const REASONS = { policy: "policy", "warm-start": "warm start", "starvation-guard": "starvation guard" };

export async function open(context) {
  let decisions = [];
  let next = null;
  const trials = new Map();
  const list = decisionTable(context.session.role === "admin", trials);
  const alertBox = h("div", { role: "alert" });
  const more = h("button", { type: "button", onclick: older }, "Older decisions");
  const emptyState = emptyPanel("No decisions yet",
    h("p", {}, "A decision is made whenever a device is free and a study has a model left to try."),
    h("a.button.main", { href: "#/new" }, "New study"));
  const content = h("div.panel", {}, list.node, h("div.actions", {}, more), alertBox);

  async function page(after) {
    const query = `?limit=${PAGE_SIZE}${after ? `&after=${encodeURIComponent(after)}` : ""}`;
    const [decisionPage, trialPage] = await Promise.all([
      context.get(`/decisions${query}`), context.get(`/trials${query}`),
    ]);
    for (const trial of trialPage.items) trials.set(trial.id, trial);
    return decisionPage;
  }

  function draw() {
    emptyState.hidden = decisions.length > 0;
    content.hidden = !decisions.length;
    more.hidden = next === null || decisions.length >= MAX_DECISIONS;
    list.set(decisions);
  }

  // Read the newest; the known ones follow them, unless so many are new that there would be a gap.
  async function read() {
    const decisionPage = await page(null);
    const first = decisions.findIndex((each) => each.id === decisionPage.items.at(-1)?.id);
    if (first < 0) [decisions, next] = [decisionPage.items, decisionPage.next];
    else decisions = [...decisionPage.items, ...decisions.slice(first + 1)].slice(0, MAX_DECISIONS);
    const kept = new Set(decisions.map((each) => each.id));
    for (const id of trials.keys()) if (!kept.has(id)) trials.delete(id);
    draw();
  }

  async function older() {
    more.disabled = true;
    fill(alertBox);
    try {
      const decisionPage = await page(decisions.at(-1).id);
      decisions = [...decisions, ...decisionPage.items];
      next = decisionPage.next;
      draw();
    } catch (error) {
      if (!context.signal.aborted) fill(alertBox, notice("bad", error.message));
    } finally {
      more.disabled = false;
    }
  }

  await read();
  context.show("Decisions",
    heading("Decisions"),
    h("p.quiet", {}, "Whenever a device is free, the model with the highest expected improvement per ",
      "second runs, given what is running already. Open a decision to see why."),
    emptyState, content);
  const plan = context.renewer(read, READ_SECONDS);
  const redraw = context.renewer(async () => draw(), 0.5);
  context.listen((event) => {
    if (event === null || event.kind === "trial-leased") plan();
    else if (event.kind.startsWith("trial-") && trials.has(event.id)) {
      trials.set(event.id, event);
      redraw();
    }
  });
}

function decisionTable(withTenants, trials) {
  const name = (each) => each.study_name || each.study;
  return table("Decisions, newest first", [
    { name: "Model", show: (each) => toDecision(each.id, each.model) },
    { name: "Study", show: (each) => toStudy(each.study, name(each)) },
    ...(withTenants ? [{ name: "Tenant", show: (each) => each.tenant }] : []),
    { name: "Time", align: "right", show: (each) => clock(each.time) },
    { name: "Device", align: "nowrap", show: (each) => each.device },
    { name: "Reason", show: (each) => REASONS[each.reason] ?? each.reason },
    { name: "EI", align: "right", show: (each) => number(gain(each)) },
    { name: "Cost", align: "right", show: (each) => duration(each.cost) },
    { name: "EI rate", align: "right",
      show: (each) => `${number(rate(each))} /s${each.value === null ? " alone" : ""}` },
    { name: "Outcome", show: (each) => outcome(trials.get(each.id)) },
  ], { key: (each) => each.id });
}

function outcome(trial) {
  if (!trial) return "–";
  return trial.state === "complete" ? score(trial.score) : badge(trial.state);
}
