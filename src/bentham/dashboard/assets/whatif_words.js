// The result of a simulation in words.

import { duration, known, number, percent, plural } from "/assets/format.js";

export const POLICIES = { bentham: "Bentham", "round-robin": "Round robin" };
const NEARLY_SHORTEST = 1.1; // times up to this factor above the shortest count as nearly as short

export function answerOf(run, devices, policy) {
  return run.answers.find((each) => each.devices === devices && each.policy === policy) ?? null;
}

export const regret = (value) => number(value, 2);
export const devicesOf = (count) => plural(count, "device");

// The median time, with its range.
export function span(answer) {
  if (answer === null) return "not simulated";
  if (!known(answer.median)) return "longer than simulated";
  const about = duration(answer.median);
  const certain = duration(answer.low) === about && duration(answer.high) === about;
  return certain ? about : `${about} (${range(answer)})`;
}

export function range({ low, high }) {
  if (!known(low)) return "longer than simulated";
  return known(high) ? `${duration(low)} to ${duration(high)}` : `${duration(low)} to longer than simulated`;
}

// Whether the level is not below the current regret, so that there is no time to tell.
export function alreadyReached(run) {
  return run.estimate <= run.regret || run.answers.every((each) => each.high === 0);
}

// The question in short.
export function question(run) {
  const condition = run.devices === run.now ? `${devicesOf(run.now)}, as now` : `${devicesOf(run.devices)} instead of ${run.now}`;
  return `${condition}: when is mean regret below ${regret(run.regret)}?`;
}

// The answer in one sentence.
export function sentence(run) {
  const requested = answerOf(run, run.devices, "bentham");
  if (requested === null) return "No answer yet.";
  const level = regret(run.regret);
  if (run.estimate <= run.regret) {
    return `Mean regret is already about ${regret(run.estimate)}, which is not above ${level}. Ask for a lower level.`;
  }
  if (alreadyReached(run)) {
    return `Mean regret is estimated as ${regret(run.estimate)}, but in every draw it is not above ${level}. ` +
      "Ask for a lower level.";
  }
  const same = run.devices === run.now;
  const condition = same ? `With the current ${devicesOf(run.now)},`
    : `With ${devicesOf(run.devices)} instead of ${run.now},`;
  const now = answerOf(run, run.now, "bentham");
  const equal = now !== null && duration(now.median) === duration(requested.median);
  const comparison = same || now === null ? "" : equal ? `, the same as with ${run.now}`
    : known(now.median) ? `, instead of ${span(now)}` : `; with ${run.now} it would take longer than simulated`;
  if (!known(requested.median)) {
    return `${condition} mean regret is not expected to fall below ${level} within the simulated time ` +
      `(it did in ${percent(requested.reached)} of the draws)${comparison}.`;
  }
  return `${condition} mean regret is expected to fall below ${level} in ${span(requested)}${comparison}.`;
}

// Further conclusions.
export function more(run) {
  const requested = answerOf(run, run.devices, "bentham");
  const roundRobin = answerOf(run, run.devices, "round-robin");
  if (requested === null || !known(requested.median) || alreadyReached(run)) return [];
  const sentences = [];
  if (roundRobin !== null) {
    sentences.push(`Round robin with ${devicesOf(run.devices)} would take ${span(roundRobin)}.`);
    const others = run.answers.filter((each) => each.policy === "round-robin");
    const enough = others.filter((each) => known(each.median) && each.median <= requested.median);
    const most = Math.max(...others.map((each) => each.devices));
    if (enough.length) {
      const least = Math.min(...enough.map((each) => each.devices));
      if (least > run.devices) sentences.push(`Round robin needs ${devicesOf(least)} to be as fast (among the numbers simulated).`);
    } else if (most > run.devices) sentences.push(`Round robin would not be as fast even with ${devicesOf(most)}.`);
  }
  const ours = run.answers.filter((each) => each.policy === "bentham" && known(each.median));
  const shortest = Math.min(...ours.map((each) => each.median));
  const least = Math.min(...ours.filter((each) => each.median <= NEARLY_SHORTEST * shortest).map((each) => each.devices));
  const most = Math.max(...ours.map((each) => each.devices));
  if (least < most) sentences.push(`Going beyond ${devicesOf(least)} gains little: ${most} are less than 10 % faster.`);
  return sentences;
}

// The summary of the first chart.
export function describeTimes(run) {
  const parts = Object.entries(POLICIES).map(([policy, name]) => {
    const all = run.answers.filter((each) => each.policy === policy);
    const reached = all.filter((each) => known(each.median));
    const unreached = all.filter((each) => !known(each.median)).map((each) => each.devices);
    const ends = reached.length
      ? `from ${duration(reached[0].median)} with ${reached[0].devices} to ${duration(reached.at(-1).median)} with ${reached.at(-1).devices}`
      : "not within the simulated time";
    const gap = unreached.length && reached.length ? `; not reached with ${unreached.join(", ")}` : "";
    return `${name}: ${ends}${gap}`;
  });
  return `Time until mean regret is below ${regret(run.regret)}, by number of devices. ${parts.join(". ")}. ` +
    "The bands contain the middle 80 % of the draws.";
}

// The summary of the second chart.
export function describeCurves(run) {
  const start = run.curves.find((curve) => curve.regret.length)?.regret[0];
  const drawn = known(start) && regret(start) !== regret(run.estimate)
    ? ` The curves start at ${regret(start)}, the median of the draws.` : "";
  const ends = run.curves.filter((curve) => curve.regret.length).map((curve) =>
    `${POLICIES[curve.policy]} with ${curve.devices}: ${regret(curve.regret.at(-1))} after ${duration(curve.times.at(-1))}`);
  return `Mean regret over time. Its estimate was ${regret(run.estimate)} when the question was asked.${drawn} ` +
    `${ends.join("; ")}.`;
}
