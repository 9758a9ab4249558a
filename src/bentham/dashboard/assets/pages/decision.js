// Why a trial was run: in words, then in figures.

import { bars } from "/assets/bars.js";
import { fill, h, link } from "/assets/dom.js";
import { clock, duration, known, number, score } from "/assets/format.js";
import { toDecision, toStudy } from "/assets/links.js";
import { badge, figure, heading, panel, table, tile } from "/assets/parts.js";

const NEIGHBOURS = 200; // latest trials of the study, searched for the previous and next decision
const RULES = {
  weights: "Weights",
  "running-trials": "Limit on running trials",
  "device-time": "Limit on device time",
  "starvation-guard": "Starvation guard",
};
const REASONS = {
  policy: "Of all models that could run, it had the highest expected improvement per second of device time.",
  "warm-start": "A new study first runs a few models regardless of their expected improvement, to learn about it.",
  "starvation-guard": "The study had waited too long, so it came next, although another model had a " +
    "higher expected improvement per second.",
};

export async function open(context) {
  const [id] = context.parameters;
  const at = encodeURIComponent(id);
  const [made, trial] = await Promise.all([
    context.get(`/decisions/${at}`), context.get(`/trials/${at}`),
  ]);
  const admin = context.session.role === "admin";
  const sentence = h("p.because", {}, because(made, trial, admin));
  const outcome = outcomePart(trial);
  const around = h("span.actions", {});
  context.show(`Why ${made.model}`,
    h("p.crumbs", {}, link("#/decisions", "Decisions"), " › ", toStudy(made.study, nameOf(made))),
    heading(`Why ${made.model}?`, around),
    h("section.panel", { "aria-label": "Explanation" }, sentence, h("p.quiet", {}, REASONS[made.reason])),
    figures(made),
    h("div.columns", {}, gainsPart(made, admin), runnersPart(made, admin)),
    h("div.columns", {}, changesPart(made, admin), outcome.node));

  function take(now) {
    outcome.set(now);
    const told = because(made, now, admin);
    if (sentence.textContent !== told) sentence.textContent = told;
  }

  const plan = context.renewer(async () => take(await context.get(`/trials/${at}`)), 1);
  context.listen((event) => {
    if (event === null) plan();
    else if (event.kind.startsWith("trial-") && event.id === id) take({ ...event, kind: trial.kind });
  });
  await neighbours(context, made, around);
}

const nameOf = (each) => each.study_name || each.name || each.study;

// "Trained boosted-trees-3 for churn because ..."
function because(made, trial, admin) {
  const verb = { complete: "Trained", running: "Training" }[trial.state] ?? "Chose";
  const what = `${verb} ${made.model} for ${nameOf(made)}`;
  if (made.reason === "warm-start") {
    return `${what} as a warm start: the study was new, and little was known about it.`;
  }
  const others = made.gains.length > 1 ? ` across ${made.gains.length} studies` : "";
  const weighted = made.gains.some((gain) => gain.weight !== 1) ? " (weighted)" : "";
  const promise = `it was expected to add ${number(made.expected_improvement)}${weighted}${others} in ` +
    `${duration(made.cost)}: ${number(made.rate)} per second`;
  if (made.reason === "starvation-guard") {
    return `${what} because the study had waited for the maximum time; ${promise}.`;
  }
  const [next] = made.runners_up;
  const times = next && next.value > 0 && known(made.value) && made.value / next.value;
  const ahead = times >= 1 ? `, ${ratio(times)} the next best${admin ? "" : " of your tenant"}` : "";
  return `${what} because ${promise}${ahead}.`;
}

function ratio(times) {
  if (times < 1.005) return "about as much as";
  return `${times >= 100 ? "over 100" : number(times)} times`;
}

function figures(made) {
  const tiles = [
    ["Expected improvement", number(made.expected_improvement), "weighted sum over all studies that list the model"],
    ["Predicted cost", duration(made.cost), `of device time, on ${made.device}`],
    ["EI rate", `${number(made.rate)} /s`, "expected improvement per second"],
    ["Decided", clock(made.time), {
      policy: "by the policy", "warm-start": "as a warm start", "starvation-guard": "by the starvation guard",
    }[made.reason]],
  ];
  return h("div.tiles", {}, tiles.map(([name, value, detail]) => {
    const made = tile(name);
    made.set(value, detail);
    return made.node;
  }));
}

function gainsPart(made, admin) {
  const drawing = bars();
  const list = table("List of studies that gain", [
    { name: "Study", value: nameOf, show: (gain) => toStudy(gain.study, nameOf(gain)) },
    ...(admin ? [{ name: "Tenant", value: (gain) => gain.tenant, show: (gain) => gain.tenant }] : []),
    { name: "EI", align: "right", value: own, show: (gain) => number(own(gain)) },
    { name: "Weight", align: "right", value: (gain) => gain.weight, show: (gain) => number(gain.weight) },
    { name: "Weighted", align: "right", value: (gain) => gain.expected_improvement,
      show: (gain) => number(gain.expected_improvement) },
  ], { key: (gain) => gain.study, empty: "No study was expected to gain." });
  const shown = figure("Expected gain by study", drawing.node, { table: list });
  const sorted = [...made.gains].sort((one, other) => other.expected_improvement - one.expected_improvement);
  const sentence = sorted.length === 0
    ? "No study was expected to gain: the score of the model was unknown, or expected to be too low."
    : sorted.length === 1
      ? `Only ${nameOf(sorted[0])} lists the model on this data.`
      : `${sorted.length} studies list the model on this data; ` +
        (sorted[0].expected_improvement > sorted[1].expected_improvement
          ? `${nameOf(sorted[0])} gains most.` : "no single study gains most.");
  drawing.set(sorted.slice(0, 12).map((gain) => ({
    name: nameOf(gain), value: gain.expected_improvement, text: number(gain.expected_improvement),
  })), sentence);
  shown.summarise(sentence);
  list.set(sorted);
  return shown.node;
}

// What the study itself expects, before weights.
const own = (gain) => (gain.weight ? gain.expected_improvement / gain.weight : null);

function runnersPart(made, admin) {
  const drawing = bars();
  const list = table("List of runners-up", [
    { name: "Model", value: (each) => each.model, show: (each) => each.model },
    { name: "Study", value: nameOf, show: (each) => toStudy(each.study, nameOf(each)) },
    ...(admin ? [{ name: "Tenant", value: (each) => each.tenant, show: (each) => each.tenant }] : []),
    { name: "Value", align: "right", value: (each) => each.value, show: (each) => number(each.value) },
    { name: "Relative to chosen", align: "right", value: (each) => each.value, show: (each) => share(each, made) },
  ], { key: (each) => `${each.study} ${each.model}`, empty: "No other model could run." });
  const shown = figure("Runners-up", drawing.node, { table: list });
  const sentence = made.runners_up.length === 0
    ? "No other model that you may see could run."
    : `The next best was ${made.runners_up[0].model} for ${nameOf(made.runners_up[0])}` +
      `${known(made.value) && made.value > 0 ? `, with ${share(made.runners_up[0], made)} of the chosen value` : ""}.`;
  const chosen = known(made.value)
    ? [{ name: `${made.model} (chosen)`, value: made.value, text: number(made.value) }] : [];
  drawing.set([...chosen, ...made.runners_up.map((each) => ({
    name: `${each.model} · ${nameOf(each)}`, value: each.value, text: number(each.value), style: "faint",
  }))], sentence);
  shown.summarise(sentence);
  list.set(made.runners_up);
  return shown.node;
}

function share(each, made) {
  return known(made.value) && made.value > 0 ? `${Math.round((100 * each.value) / made.value)} %` : "–";
}

function changesPart(made, admin) {
  if (!made.changes.length) {
    return panel("Limits and guards", h("p", {}, "No limit, weight or guard changed this decision."));
  }
  return panel("Limits and guards", h("ul.changes", {}, made.changes.map((change) =>
    h("li", {}, h("strong", {}, RULES[change.rule] ?? change.rule), `: ${change.detail}. `,
      change.instead && h("span", {}, "Without it, ", h("strong", {}, change.instead.model), " for ",
        toStudy(change.instead.study, nameOf(change.instead)),
        admin ? ` of ${change.instead.tenant}` : "", " would have run.")))));
}

function outcomePart(first) {
  const facts = h("dl.facts", {});
  const node = panel("Outcome", facts);
  function set(trial) {
    const took = known(trial.ended) ? trial.ended - trial.started : null;
    const off = known(took) && trial.cost > 0 ? ` (predicted: ${duration(trial.cost)})` : "";
    fill(facts, [
      ["State", badge(trial.state)],
      ["Score", score(trial.score)],
      ["Duration", known(took) ? `${duration(took)}${off}` : `running since ${clock(trial.started)}`],
      ["Device", trial.kind ? `${trial.device} (${trial.kind})` : trial.device],
      ["Attempt", trial.attempt > 1 && String(trial.attempt)],
      ["Reason", trial.reason],
      ["Log", known(trial.ended) && h("a", {
        href: `/v1/trials/${encodeURIComponent(trial.id)}/log`, target: "_blank", rel: "noopener",
      }, "Output", h("span.unseen", {}, ", in a new tab"))],
      ["Decision", h("code", {}, trial.id)],
    ].filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }
  set(first);
  return { node, set };
}

// The decisions before and after this one for the same study.
async function neighbours(context, made, node) {
  const page = await context.get(`/trials?study=${encodeURIComponent(made.study)}&limit=${NEIGHBOURS}`);
  const place = page.items.findIndex((trial) => trial.id === made.id);
  const [after, before] = place < 0 ? [] : [page.items[place - 1], page.items[place + 1]];
  const to = (trial, text) => {
    if (!trial) return null;
    const anchor = toDecision(trial.id, text);
    anchor.className = "button";
    return anchor;
  };
  fill(node, to(before, "‹ Previous"), to(after, "Next ›"));
}
