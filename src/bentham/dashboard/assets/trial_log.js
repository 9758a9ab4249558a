// The output of a trial, in a dialog on the page.

import { text } from "/assets/api.js";
import { fill, h } from "/assets/dom.js";

const LONGEST_SHOWN = 200_000; // characters; the file has all

// A button that shows the log of a trial that has ended.
export function logButton(context, trial) {
  return h("button.plain.small", { type: "button", onclick: () => open(context, trial) },
    "Log", h("span.visually-hidden", {}, ` of ${trial.model}`));
}

async function open(context, trial) {
  const path = `/trials/${encodeURIComponent(trial.id)}/log`;
  const title = `Log of ${trial.model}`;
  const content = h("div.log", { "aria-live": "polite" }, "Loading …");
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const file = h("a.button", { href: `/v1${path}`, download: `${trial.id}.log`, hidden: true }, "Save");
  const dialog = h("dialog.panel", { "aria-label": title }, h("h2", {}, title),
    trial.reason && h("p", {}, `The trial ${trial.state}: ${trial.reason}`), content,
    h("div.actions", {}, close, file));
  dialog.addEventListener("close", () => dialog.remove());
  context.signal.addEventListener("abort", () => dialog.close(), { once: true });
  document.body.append(dialog);
  dialog.showModal();
  try {
    const log = await text(path, { signal: context.signal });
    file.hidden = false;
    const cut = log.length > LONGEST_SHOWN;
    fill(content,
      cut && h("p.quiet", {}, "This is the end of the log; the file has all of it."),
      // Focusable, so that it can be scrolled with the keyboard.
      log.trim() ? h("pre", { tabindex: "0" }, log.slice(-LONGEST_SHOWN)) : "The trial printed nothing.");
  } catch (error) {
    if (context.signal.aborted) return;
    const nothing = error.status === 404;
    fill(content, nothing ? "The trial printed nothing, or its log was not kept." : error.message);
  }
}
