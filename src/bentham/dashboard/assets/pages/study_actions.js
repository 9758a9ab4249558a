// Pause, resume, close: what is done to a study from its page.

import { post } from "/assets/api.js";
import { fill, h, unique } from "/assets/dom.js";
import { notice } from "/assets/parts.js";

export function actions(context, study, renew) {
  const said = h("div", { role: "alert" });
  const pause = h("button", { type: "button", onclick: () => move("pause", "Paused.") }, "Pause");
  const resume = h("button", { type: "button", onclick: () => move("resume", "Resumed.") }, "Resume");
  const close = h("button.danger", { type: "button", onclick: () => asked.showModal() }, "Close …");
  const asked = question(study().name, () => move("close", "Closed."));
  const buttons = [pause, resume, close];

  async function move(what, done) {
    const held = document.activeElement;
    for (const button of buttons) button.disabled = true;
    fill(said);
    try {
      await post(`/studies/${encodeURIComponent(study().id)}/${what}`);
      context.say(done);
      await renew();
    } catch (error) {
      if (!context.signal.aborted) fill(said, notice("bad", error.message));
    }
    for (const button of buttons) button.disabled = false;
    // The button that was pressed may be gone: the focus goes to the one in its place,
    // unless somebody has taken it elsewhere meanwhile.
    const place = buttons.includes(held) && held.hidden ? buttons.find((each) => !each.hidden) : held;
    const lost = document.activeElement === document.body || buttons.includes(document.activeElement);
    if (lost && place?.isConnected) place.focus();
  }

  return {
    node: h("span.actions", {}, pause, resume, close, asked),
    said,
    set() {
      const { state } = study();
      pause.hidden = state !== "open";
      resume.hidden = state !== "paused";
      close.hidden = state === "closed";
    },
  };
}

// Asked before what cannot be undone.
function question(name, yes) {
  const id = unique("question");
  const dialog = h("dialog", { "aria-labelledby": id },
    h("form.form", { method: "dialog" },
      h("h2", { id }, `Close ${name} for good?`),
      h("p", {}, "No more models are tried for it. Trials that run go on, what they show is kept, ",
        "and all that was found stays here. A closed study cannot be opened again; to stop it for ",
        "a while, pause it."),
      h("div.actions", {},
        h("button", { value: "no", autofocus: true }, "Keep it"),
        h("button.danger", { value: "yes" }, "Close the study"))));
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "yes") yes();
    dialog.returnValue = "";
  });
  return dialog;
}
