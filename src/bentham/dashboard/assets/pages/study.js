// One study, in tabs: progress and the next model, candidates, the best model, trials, export, settings.

import { address, h, link } from "/assets/dom.js";
import { duration, known, number, plural, score, scoreName, whole } from "/assets/format.js";
import { gain, rate, rateName } from "/assets/gain.js";
import { badge, heading, notice, panel, tile } from "/assets/parts.js";
import { actions } from "/assets/pages/study_actions.js";
import { candidates } from "/assets/pages/study_candidates.js";
import { learning } from "/assets/pages/study_learning.js";
import { bestModel } from "/assets/pages/study_model.js";
import { bestConfiguration, exports } from "/assets/pages/study_results.js";
import { baseline, isBeaten, tried as triedOf } from "/assets/pages/study_table.js";
import { trials } from "/assets/pages/study_trials.js";
import { tabs } from "/assets/tabs.js";

const READ_SECONDS = 1.5;
const REFRESH_SECONDS = 30; // scores of other studies may change its posterior

export async function open(context) {
  const [id, tab] = context.parameters;
  const path = `/studies/${encodeURIComponent(id)}`;
  const state = { study: null, candidates: [], record: [], next: null };

  async function read() {
    const [study, listed, record, next] = await Promise.all([
      context.get(path), context.get(`${path}/candidates`), context.get(`${path}/record`),
      context.get(`${path}/next`),
    ]);
    Object.assign(state, { study, candidates: listed.items, record: record.items, next });
  }

  const trialList = trials(context, id);
  await Promise.all([read(), trialList.read()]);
  const top = headPart(context, () => state.study, renew);
  const pieces = [tiles(), nextPart(), learning(), candidates(), bestConfiguration(), exports(context), aboutPart(),
    bestModel(context, id)];
  const [glance, next, best, all, configuration, outcome, about, model] = pieces;
  const parts = tabs("Parts of the study", [
    { id: "progress", name: "Progress", nodes: [h("div.study-top", {}, best.node, next.node)] },
    { id: "candidates", name: "Candidates", nodes: [all.node] },
    { id: "model", name: "Best model", nodes: [model.node, configuration.node] },
    { id: "trials", name: "Trials", nodes: [trialList.node] },
    { id: "export", name: "Export", nodes: [outcome.node] },
    { id: "about", name: "About", nodes: [about.node] },
  ], tab, address("studies", id));

  function draw() {
    for (const piece of [top, ...pieces]) piece.set(state);
  }

  async function renew() {
    await read();
    draw();
  }

  draw();
  context.show(state.study.name, top.node, glance.node, parts.node);
  const plan = context.renewer(renew, READ_SECONDS);
  context.every(REFRESH_SECONDS, plan);
  context.listen((event) => {
    if (event === null) trialList.read();
    else if (event.kind.startsWith("trial-") && event.study === id) trialList.take(event);
    else if (!concerns(event, state.study)) return;
    plan();
  });
}

// Whether an event is about the study, or about a trial of another study over the same data.
function concerns(event, study) {
  if (event.kind === "no-device") return true; // it changes what the study waits for
  if (event.id === study.id) return event.kind.startsWith("study-");
  const dataset = study.data || study.dataset;
  return event.kind.startsWith("trial-") && event.tenant === study.tenant && event.dataset === dataset;
}

function headPart(context, study, renew) {
  const shown = h("span", {});
  const buttons = actions(context, study, renew);
  const notices = h("div", {});
  const owner = context.session.role === "admin" ? h("span.quiet", {}, `of ${study().tenant}`) : null;
  const node = h("div.stack", {},
    h("p.crumbs", {}, link("#/studies", "Studies")),
    heading(study().name, shown, owner, buttons.node),
    buttons.alertBox, notices);
  let last = "";
  return {
    node,
    set() {
      const { name, state, reason } = study();
      if (last === [name, state, reason].join()) return;
      last = [name, state, reason].join();
      node.querySelector("h1").textContent = name;
      shown.replaceChildren(badge(state));
      notices.replaceChildren();
      if (state === "closed") notices.append(notice("", `Closed: ${reason || "no reason given"}.`));
      if (state === "paused") notices.append(notice("warn", "Paused: no new trials start until it is resumed."));
      buttons.set();
    },
  };
}

function tiles() {
  const best = tile("Best so far");
  const gained = tile("Gain in the last hour");
  const tried = tile("Models tried");
  const time = tile("Device time");
  const more = tile("Highest EI");
  return {
    node: h("div.tiles", {}, [best, gained, tried, time, more].map((each) => each.node)),
    set({ study, candidates: all }) {
      const counts = study.trials;
      const problems = [[counts.failed, "failed"], [counts.lost, "lost"]].filter(([count]) => count);
      best.set(score(study.incumbent?.score),
        study.incumbent ? `${scoreName(study)}, by ${study.incumbent.model}` : `${study.metric}; no score yet`);
      gained.set(study.gained.last_hour > 0 ? `+${number(study.gained.last_hour)}` : "0", baselineText(study));
      tried.set(`${whole(triedOf(study))} of ${whole(study.models)}`,
        [[counts.running, "running"], ...problems].map(([count, word]) => `${whole(count)} ${word}`).join(", "));
      time.set(duration(study.device_seconds),
        `in ${plural(counts.running + counts.complete + counts.failed + counts.lost, "trial")}`);
      const highest = all.filter((each) => known(each.expected_improvement))
        .sort((one, other) => other.expected_improvement - one.expected_improvement)[0];
      if (highest) {
        more.set(number(highest.expected_improvement), `expected improvement of ${highest.model}`);
      } else more.set("–", study.state === "open" ? "no model is left to try" : `the study is ${study.state}`);
    },
  };
}

function baselineText(study) {
  if (baseline(study) === null) return "";
  const text = `baseline ${score(study.floor)}`;
  if (study.incumbent === null) return text;
  return isBeaten(study) ? `${text}, beaten by ${number(study.incumbent.score - study.floor)}` : `${text}: not beaten`;
}

function nextPart() {
  const model = h("p.next-model", {});
  const waits = h("p.waits", {});
  const why = h("p", {});
  const facts = h("dl.facts", {});
  const node = panel("Next model", model, waits, why, facts);
  return {
    node,
    set({ next }) {
      model.textContent = next.model ?? "None";
      model.classList.toggle("quiet", next.model === null);
      waits.textContent = next.waits;
      waits.hidden = !next.waits;
      why.textContent = next.reason;
      facts.hidden = next.model === null;
      facts.replaceChildren(...[
        ["Expected improvement", number(gain(next))],
        ["Predicted cost", duration(next.cost)],
        [rateName(next), `${number(rate(next))} per second`],
      ].flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
    },
  };
}

function aboutPart() {
  const facts = h("dl.facts", {});
  const notes = h("ul.notes", {});
  const node = panel("About this study", facts, notes);
  let drawn = "";
  return {
    node,
    set({ study }) {
      if (drawn === JSON.stringify([study.stop, study.data])) return; // nothing else changes
      drawn = JSON.stringify([study.stop, study.data]);
      const { training, stop } = study;
      const rules = [
        known(stop.trials) && `after ${plural(stop.trials, "trial")}`,
        known(stop.cost) && `after ${duration(stop.cost)} of device time`,
        known(stop.deadline) && `at ${new Date(1000 * stop.deadline).toLocaleString("en-GB")}`,
        known(stop.expected_gain) && `when no model is expected to add ${number(stop.expected_gain)}`,
        stop.gain_share && "when all untried models together are expected to add less than " +
          `${number(100 * stop.gain_share)} % of the gain over the baseline`,
        "when every model has been tried",
      ].filter(Boolean);
      const split = training && `${training.split.kind === "folds"
        ? `${training.split.folds} folds` : `${Math.round(100 * training.split.share)} % held out`
      }, random seed ${training.split.seed}`;
      const lines = [
        ["Data", training ? link(address("datasets", training.dataset), study.data) : study.data || study.dataset],
        ["Size", known(study.rows) &&
          [plural(study.rows, "row"), known(study.columns) && `${plural(study.columns, "column")} to learn from`]
            .filter(Boolean).join(", ")],
        ["Predicts", training && `${training.target} (${training.task})`],
        ["Metric", split ? `${study.metric}, ${split}` : study.metric],
        ["Baseline", known(baseline(study)) &&
          `${score(study.floor)}${training ? ", the score of the best constant prediction" : ""}`],
        ["Closes", rules.join(", or ")],
        ["Weight", number(study.weight)],
        ["Created", new Date(1000 * study.created).toLocaleString("en-GB")],
        ["Id", study.id],
      ].filter(([, text]) => text);
      facts.replaceChildren(...lines.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
      notes.replaceChildren(...(training?.notes ?? []).map((note) => h("li", {}, note)));
      notes.hidden = !notes.childElementCount;
    },
  };
}
