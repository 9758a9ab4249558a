// Options that are rarely needed: stop rules, and the algorithms to draw models from.

import { h, unique } from "/assets/dom.js";
import { field } from "/assets/pages/create_field.js";

export function morePart(algorithms) {
  const trials = field("Trials", number({ min: 1, step: 1 }), "Close after this number of trials.");
  const minutes = field("Device time (minutes)", number({ min: 0.1, step: "any" }),
    "Close when this much is used.");
  const deadline = field("Deadline", h("input", { type: "datetime-local" }), "Close at this time, in your time zone.");
  const gain = field("Minimum gain", number({ min: 0, step: "any" }),
    "Close when no untried model is expected to add this much.");
  const all = h("input", { type: "checkbox", id: unique("exhaust") });
  const boxes = algorithms.map((each) => {
    const id = unique("algorithm");
    const input = h("input", { type: "checkbox", id, value: each.name });
    input.checked = true;
    return { each, input, node: h("div.check", {}, input, h("label", { for: id }, each.title)) };
  });
  const node = h("details", {}, h("summary", {}, "More options: stop rules, algorithms"),
    h("div.stack", {},
      h("h3", {}, "Stop rules"),
      h("p.quiet", {}, "The study closes when the first rule is met. Leave all empty to continue until all ",
        "untried models together are expected to add less than 0.1 % of what it has gained over the baseline."),
      h("div.fields", {}, trials.node, minutes.node, deadline.node, gain.node),
      h("div.check", {}, all, h("label", { for: all.id }, "Train every model, even if little is expected")),
      h("fieldset", {}, h("legend", {}, "Algorithms to draw models from"),
        h("div.checks", {}, boxes.map((box) => box.node)))));

  const value = (each) => (each.input.value === "" ? null : Number(each.input.value));
  return {
    node,
    // Offer only the algorithms that support the task.
    showFor(task) {
      for (const { each, node: box } of boxes) box.hidden = Boolean(task) && !each.tasks.includes(task);
    },
    body() {
      const stop = {
        trials: value(trials),
        cost: value(minutes) === null ? null : 60 * value(minutes),
        deadline: deadline.input.value ? new Date(deadline.input.value).getTime() / 1000 : null,
        expected_gain: value(gain) || null,
        gain_share: all.checked ? 0 : null,
      };
      const offered = boxes.filter((box) => !box.node.hidden);
      const chosen = offered.filter((box) => box.input.checked);
      return {
        stop: Object.fromEntries(Object.entries(stop).filter(([, each]) => each !== null)),
        // If all or none are checked, the server chooses.
        ...(chosen.length < offered.length && chosen.length > 0 &&
          { algorithms: chosen.map((box) => box.each.name) }),
      };
    },
  };
}

function number(properties) {
  return h("input", { type: "number", inputmode: "decimal", ...properties });
}
