// Why a trial was run: in words, then in figures.

import { bars } from "/assets/bars.js";
import { fill, h, link } from "/assets/dom.js";
import { clock, duration, known, number, score } from "/assets/format.js";
import { countsRunning, gain, rate, rateName } from "/assets/gain.js";
import { toDecision, toStudy } from "/assets/links.js";
import { badge, figure, heading, panel, table, tile } from "/assets/parts.js";
import { logButton } from "/assets/trial_log.js";

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
  const encodedId = encodeURIComponent(id);
  const [decision, trial] = await Promise.all([
    context.get(`/decisions/${encodedId}`), context.get(`/trials/${encodedId}`),
  ]);
  const admin = context.session.role === "admin";
  const sentence = h("p.because", {}, because(decision, trial, admin));
  const outcome = outcomePart(context, trial);
  const navigation = h("span.actions", {});
  context.show(`Why ${decision.model}`,
    h("p.crumbs", {}, link("#/decisions", "Decisions"), " › ", toStudy(decision.study, studyName(decision))),
    heading(`Why ${decision.model}?`, navigation),
    h("section.panel", { "aria-label": "Explanation" }, sentence, h("p.quiet", {}, REASONS[decision.reason])),
    figures(decision),
    h("div.columns", {}, gainsPart(decision, admin), runnersUpPart(decision, admin)),
    h("div.columns", {}, changesPart(decision, admin), outcome.node));

  function update(now) {
    outcome.set(now);
    const text = because(decision, now, admin);
    if (sentence.textContent !== text) sentence.textContent = text;
  }

  const plan = context.renewer(async () => update(await context.get(`/trials/${encodedId}`)), 1);
  context.listen((event) => {
    if (event === null) plan();
    else if (event.kind.startsWith("trial-") && event.id === id) update({ ...event, kind: trial.kind });
  });
  await neighbours(context, decision, navigation);
}

const studyName = (each) => each.study_name || each.name || each.study;

// "Trained boosted-trees-3 for churn because ..."
function because(decision, trial, admin) {
  const verb = { complete: "Trained", running: "Training" }[trial.state] ?? "Chose";
  const action = `${verb} ${decision.model} for ${studyName(decision)}`;
  if (decision.reason === "warm-start") {
    return `${action} as a warm start: the study was new, and little was known about it.`;
  }
  const others = decision.gains.length > 1 ? ` across ${decision.gains.length} studies` : "";
  const weighted = decision.gains.some((gain) => gain.weight !== 1) ? " (weighted)" : "";
  const running = countsRunning(decision) ? ", given what was running" : "";
  const expectation = `it was expected to add ${number(gain(decision))}${weighted}${others} in ` +
    `${duration(decision.cost)}: ${number(rate(decision))} per second${running}`;
  if (decision.reason === "starvation-guard") {
    return `${action} because the study had waited for the maximum time; ${expectation}.`;
  }
  const [next] = decision.runners_up;
  const times = next && next.value > 0 && known(decision.value) && decision.value / next.value;
  const lead = times >= 1 ? `, ${ratio(times)} the next best${admin ? "" : " of your tenant"}` : "";
  return `${action} because ${expectation}${lead}.`;
}

function ratio(times) {
  if (times < 1.005) return "about as much as";
  return `${times >= 100 ? "over 100" : number(times)} times`;
}

function figures(decision) {
  const alone = countsRunning(decision)
    ? `given what was running; ${number(decision.rate)} /s if nothing else were` : "expected improvement per second";
  const tiles = [
    ["Expected improvement", number(gain(decision)), "weighted sum over all studies that list the model"],
    ["Predicted cost", duration(decision.cost), `of device time, on ${decision.device}`],
    [rateName(decision), `${number(rate(decision))} /s`, alone],
    ["Decided", clock(decision.time), {
      policy: "by the policy", "warm-start": "as a warm start", "starvation-guard": "by the starvation guard",
    }[decision.reason]],
  ];
  return h("div.tiles", {}, tiles.map(([name, value, detail]) => {
    const item = tile(name);
    item.set(value, detail);
    return item.node;
  }));
}

function gainsPart(decision, admin) {
  const drawing = bars();
  const list = table("List of studies that gain", [
    { name: "Study", value: studyName, show: (gain) => toStudy(gain.study, studyName(gain)) },
    ...(admin ? [{ name: "Tenant", value: (gain) => gain.tenant, show: (gain) => gain.tenant }] : []),
    { name: "EI", align: "right", value: unweighted, show: (gain) => number(unweighted(gain)) },
    { name: "Weight", align: "right", value: (gain) => gain.weight, show: (gain) => number(gain.weight) },
    { name: "Weighted", align: "right", value: (gain) => gain.expected_improvement,
      show: (gain) => number(gain.expected_improvement) },
  ], { key: (gain) => gain.study, empty: "No study was expected to gain." });
  const alone = countsRunning(decision) ? ", if nothing else were running" : "";
  const shown = figure(`Expected gain by study${alone}`, drawing.node, { table: list });
  const sorted = [...decision.gains].sort((one, other) => other.expected_improvement - one.expected_improvement);
  const sentence = sorted.length === 0
    ? "No study was expected to gain: the score of the model was unknown, or expected to be too low."
    : sorted.length === 1
      ? `Only ${studyName(sorted[0])} lists the model on this data.`
      : `${sorted.length} studies list the model on this data; ` +
        (sorted[0].expected_improvement > sorted[1].expected_improvement
          ? `${studyName(sorted[0])} gains most.` : "no single study gains most.");
  drawing.set(sorted.slice(0, 12).map((gain) => ({
    name: studyName(gain), value: gain.expected_improvement, text: number(gain.expected_improvement),
  })), sentence);
  shown.summarise(sentence);
  list.set(sorted);
  return shown.node;
}

// What the study itself expects, before weights.
const unweighted = (gain) => (gain.weight ? gain.expected_improvement / gain.weight : null);

function runnersUpPart(decision, admin) {
  const drawing = bars();
  const list = table("List of runners-up", [
    { name: "Model", value: (each) => each.model, show: (each) => each.model },
    { name: "Study", value: studyName, show: (each) => toStudy(each.study, studyName(each)) },
    ...(admin ? [{ name: "Tenant", value: (each) => each.tenant, show: (each) => each.tenant }] : []),
    { name: "EI rate", align: "right", value: (each) => each.value, show: (each) => `${number(each.value)} /s` },
    { name: "Relative to chosen", align: "right", value: (each) => each.value, show: (each) => share(each, decision) },
  ], { key: (each) => `${each.study} ${each.model}`, empty: "No other model could run." });
  const shown = figure("Runners-up", drawing.node, { table: list });
  const sentence = decision.runners_up.length === 0
    ? "No other model that you may see could run."
    : `The next best was ${decision.runners_up[0].model} for ${studyName(decision.runners_up[0])}` +
      `${known(decision.value) && decision.value > 0 ? `, with ${share(decision.runners_up[0], decision)} of the chosen EI rate` : ""}.`;
  const chosen = known(decision.value)
    ? [{ name: `${decision.model} (chosen)`, value: decision.value, text: number(decision.value) }] : [];
  drawing.set([...chosen, ...decision.runners_up.map((each) => ({
    name: `${each.model} · ${studyName(each)}`, value: each.value, text: number(each.value), style: "faint",
  }))], sentence);
  shown.summarise(sentence);
  list.set(decision.runners_up);
  return shown.node;
}

function share(each, decision) {
  return known(decision.value) && decision.value > 0 ? `${Math.round((100 * each.value) / decision.value)} %` : "–";
}

function changesPart(decision, admin) {
  if (!decision.changes.length) {
    return panel("Limits and guards", h("p", {}, "No limit, weight or guard changed this decision."));
  }
  return panel("Limits and guards", h("ul.changes", {}, decision.changes.map((change) =>
    h("li", {}, h("strong", {}, RULES[change.rule] ?? change.rule), `: ${change.detail}. `,
      change.instead && h("span", {}, "Without it, ", h("strong", {}, change.instead.model), " for ",
        toStudy(change.instead.study, studyName(change.instead)),
        admin ? ` of ${change.instead.tenant}` : "", " would have run.")))));
}

function outcomePart(context, first) {
  const facts = h("dl.facts", {});
  const node = panel("Outcome", facts);
  function set(trial) {
    const took = known(trial.ended) ? trial.ended - trial.started : null;
    const predicted = known(took) && trial.cost > 0 ? ` (predicted: ${duration(trial.cost)})` : "";
    fill(facts, [
      ["State", badge(trial.state)],
      ["Score", score(trial.score)],
      ["Duration", known(took) ? `${duration(took)}${predicted}` : `running since ${clock(trial.started)}`],
      ["Device", trial.kind ? `${trial.device} (${trial.kind})` : trial.device],
      ["Attempt", trial.attempt > 1 && String(trial.attempt)],
      ["Reason", trial.reason],
      ["Log", known(trial.ended) && logButton(context, trial)],
      ["Decision", h("code", {}, trial.id)],
    ].filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }
  set(first);
  return { node, set };
}

// The decisions before and after this one for the same study.
async function neighbours(context, decision, node) {
  const page = await context.get(`/trials?study=${encodeURIComponent(decision.study)}&limit=${NEIGHBOURS}`);
  const place = page.items.findIndex((trial) => trial.id === decision.id);
  const [after, before] = place < 0 ? [] : [page.items[place - 1], page.items[place + 1]];
  const to = (trial, text) => {
    if (!trial) return null;
    const anchor = toDecision(trial.id, text);
    anchor.className = "button";
    return anchor;
  };
  fill(node, to(before, "‹ Previous"), to(after, "Next ›"));
}
