// The actions of a study: pause, resume, close.

import { post } from "/assets/api.js";
import { fill, h, unique } from "/assets/dom.js";
import { notice } from "/assets/parts.js";

export function actions(context, study, renew) {
  const alertBox = h("div", { role: "alert" });
  const pause = h("button", { type: "button", onclick: () => run("pause", "Paused.") }, "Pause");
  const resume = h("button", { type: "button", onclick: () => run("resume", "Resumed.") }, "Resume");
  const close = h("button.danger", { type: "button", onclick: () => confirmation.showModal() }, "Close …");
  const confirmation = confirmationDialog(study().name, () => run("close", "Closed."));
  const buttons = [pause, resume, close];

  async function run(action, done) {
    const focused = document.activeElement;
    for (const button of buttons) button.disabled = true;
    fill(alertBox);
    try {
      await post(`/studies/${encodeURIComponent(study().id)}/${action}`);
      context.say(done);
      await renew();
    } catch (error) {
      if (!context.signal.aborted) fill(alertBox, notice("bad", error.message));
    }
    for (const button of buttons) button.disabled = false;
    // The button that was pressed may be hidden: the focus moves to the one in its place,
    // unless the user has moved it meanwhile.
    const place = buttons.includes(focused) && focused.hidden ? buttons.find((each) => !each.hidden) : focused;
    const lost = document.activeElement === document.body || buttons.includes(document.activeElement);
    if (lost && place?.isConnected) place.focus();
  }

  return {
    node: h("span.actions", {}, pause, resume, close, confirmation),
    alertBox,
    set() {
      const { state } = study();
      pause.hidden = state !== "open";
      resume.hidden = state !== "paused";
      close.hidden = state === "closed";
    },
  };
}

// Confirmation of an action that cannot be undone.
function confirmationDialog(name, yes) {
  const id = unique("question");
  const dialog = h("dialog", { "aria-labelledby": id },
    h("form.form", { method: "dialog" },
      h("h2", { id }, `Close ${name} permanently?`),
      h("p", {}, "No more trials start. Running trials continue, and their results are stored. ",
        "Everything found so far stays available. A closed study cannot be reopened; to stop it ",
        "temporarily, pause it."),
      h("div.actions", {},
        h("button", { value: "no", autofocus: true }, "Cancel"),
        h("button.danger", { value: "yes" }, "Close the study"))));
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "yes") yes();
    dialog.returnValue = "";
  });
  return dialog;
}
