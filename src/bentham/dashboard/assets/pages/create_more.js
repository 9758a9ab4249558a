// What few need to say: when a study ends by itself, and which algorithms it draws from.

import { h, unique } from "/assets/dom.js";
import { field } from "/assets/pages/create_field.js";

export function morePart(algorithms) {
  const trials = field("Trials", number({ min: 1, step: 1 }), "It closes after so many.");
  const minutes = field("Device time, minutes", number({ min: 0.1, step: "any" }),
    "It closes when it has used so much.");
  const deadline = field("Deadline", h("input", { type: "datetime-local" }), "It closes then, by your clock.");
  const gain = field("Least gain", number({ min: 0, step: "any" }),
    "It closes when no untried model is expected to add so much.");
  const boxes = algorithms.map((each) => {
    const id = unique("algorithm");
    const input = h("input", { type: "checkbox", id, value: each.name });
    input.checked = true;
    return { each, input, node: h("div.check", {}, input, h("label", { for: id }, each.title)) };
  });
  const node = h("details", {}, h("summary", {}, "More: when it ends, which algorithms"),
    h("div.stack", {},
      h("h3", {}, "Close by itself"),
      h("p.quiet", {}, "The first that is met counts; leave all empty to try every model."),
      h("div.fields", {}, trials.node, minutes.node, deadline.node, gain.node),
      h("fieldset", {}, h("legend", {}, "Algorithms to draw models from"),
        h("div.checks", {}, boxes.map((box) => box.node)))));

  const value = (each) => (each.input.value === "" ? null : Number(each.input.value));
  return {
    node,
    // Only those that can do the task are offered.
    suit(task) {
      for (const { each, node: box } of boxes) box.hidden = Boolean(task) && !each.tasks.includes(task);
    },
    body() {
      const stop = {
        trials: value(trials),
        cost: value(minutes) === null ? null : 60 * value(minutes),
        deadline: deadline.input.value ? new Date(deadline.input.value).getTime() / 1000 : null,
        expected_gain: value(gain) || null,
      };
      const offered = boxes.filter((box) => !box.node.hidden);
      const chosen = offered.filter((box) => box.input.checked);
      return {
        stop: Object.fromEntries(Object.entries(stop).filter(([, each]) => each !== null)),
        // All, or none: then it is the server's choice.
        ...(chosen.length < offered.length && chosen.length > 0 &&
          { algorithms: chosen.map((box) => box.each.name) }),
      };
    },
  };
}

function number(properties) {
  return h("input", { type: "number", inputmode: "decimal", ...properties });
}
