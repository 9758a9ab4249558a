// Options that are rarely needed: stop rules, and the algorithms to draw models from.

import { h, unique } from "/assets/dom.js";
import { field } from "/assets/field.js";

export function morePart(algorithms) {
  const trials = field("Trials", number({ min: 1, step: 1 }), "Close after this number of trials.");
  const minutes = field("Device time (minutes)", number({ min: 0.1, step: "any" }),
    "Close when this much is used.");
  const deadline = field("Deadline", h("input", { type: "datetime-local" }), "Close at this time, in your time zone.");
  const gain = field("Minimum gain", number({ min: 0, step: "any" }),
    "Close when no untried model is expected to add this much.");
  const all = h("input", { type: "checkbox", id: unique("exhaust") });
  const split = splitPart();
  const boxes = algorithms.map((each) => {
    const id = unique("algorithm");
    const input = h("input", { type: "checkbox", id, value: each.name });
    input.checked = true;
    return { each, input, node: h("div.check", {}, input, h("label", { for: id }, each.title)) };
  });
  const node = h("details", {}, h("summary", {}, "More options: stop rules, evaluation, algorithms"),
    h("div.stack", {},
      h("h3", {}, "Stop rules"),
      h("p.quiet", {}, "The study closes when the first rule is met. Leave all empty to continue until all ",
        "untried models together are expected to add less than 0.1 % of what it has gained over the baseline."),
      h("div.fields", {}, trials.node, minutes.node, deadline.node, gain.node),
      h("div.check", {}, all, h("label", { for: all.id }, "Train every model, even if little is expected")),
      h("h3", {}, "Evaluation"),
      split.node,
      h("fieldset", {}, h("legend", {}, "Algorithms to draw models from"),
        h("div.checks", {}, boxes.map((box) => box.node)))));

  const value = (each) => (each.input.value === "" ? null : Number(each.input.value));
  return {
    node,
    // Offer only the algorithms that support the task.
    showFor(task) {
      for (const { each, node: box } of boxes) box.hidden = Boolean(task) && !each.tasks.includes(task);
    },
    split: split.body,
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

// How rows are held out to evaluate a model.
function splitPart() {
  const kind = field("Split", h("select", { name: "split" },
    h("option", { value: "" }, "Default: folds if there are few rows"),
    h("option", { value: "folds" }, "Folds: each part is held out in turn"),
    h("option", { value: "holdout" }, "Holdout: a share is held out once")));
  const folds = field("Folds", number({ min: 2, max: 20, step: 1, value: 5 }));
  const share = field("Held out (%)", number({ min: 5, max: 50, step: "any", value: 25 }));
  const seed = field("Random seed", number({ min: 0, max: 2 ** 32 - 1, step: 1, value: 0 }),
    "Of the split and the models. The same seed gives the same scores.");
  const draw = () => {
    for (const [each, name] of [[folds, "folds"], [share, "holdout"]]) {
      each.node.hidden = each.input.disabled = kind.input.value !== name; // a disabled one is not checked
    }
  };
  kind.input.addEventListener("change", draw);
  draw();
  return {
    node: h("div.fields", {}, kind.node, folds.node, share.node, seed.node),
    body: () => ({
      seed: Number(seed.input.value),
      ...(kind.input.value && { kind: kind.input.value }),
      ...(kind.input.value === "folds" && { folds: Number(folds.input.value) }),
      ...(kind.input.value === "holdout" && { share: Number(share.input.value) / 100 }),
    }),
  };
}

function number(properties) {
  return h("input", { type: "number", inputmode: "decimal", ...properties });
}
