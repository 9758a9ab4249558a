// The actions of a study: rename, pause, resume, close, reopen.

import { patch, post } from "/assets/api.js";
import { renaming } from "/assets/dialog.js";
import { fill, h } from "/assets/dom.js";
import { notice } from "/assets/parts.js";

export function actions(context, study, renew) {
  const alertBox = h("div", { role: "alert" });
  const pause = h("button", { type: "button", onclick: () => run("pause", "Paused.") }, "Pause");
  const resume = h("button", { type: "button", onclick: () => run("resume", "Resumed.") }, "Resume");
  const close = h("button", { type: "button", onclick: () => run("close", "Closed.") }, "Close");
  const reopen = h("button", { type: "button", onclick: () => run("reopen", "Reopened.") }, "Reopen");
  const rename = h("button", { type: "button", onclick: () => renaming(context, "study", study().name,
    async (name) => {
      await patch(`/studies/${encodeURIComponent(study().id)}`, { name });
      await renew();
    }) }, "Rename");
  const buttons = [pause, resume, close, reopen];

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
    node: h("span.actions", {}, rename, pause, resume, close, reopen),
    alertBox,
    set() {
      const { state, untried } = study();
      pause.hidden = state !== "open";
      resume.hidden = state !== "paused";
      close.hidden = state === "closed";
      reopen.hidden = state !== "closed" || untried === 0;
    },
  };
}
