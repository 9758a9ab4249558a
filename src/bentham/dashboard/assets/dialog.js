// Dialogs: a question, fields to fill in if there are any, and a button that does it.

import { fill, h, unique } from "/assets/dom.js";
import { field } from "/assets/field.js";
import { notice } from "/assets/parts.js";

const MAX_NAME_LENGTH = 200;

// Ask before something is done. `content` are nodes; `work` does it and may refuse by an error, whose
// message is then shown. The dialog closes once the work is done, or when the page is left.
export function ask(context, { title, content = [], action, danger = false, work }) {
  const id = unique("dialog");
  const alertBox = h("div", { role: "alert" });
  const go = h(danger ? "button.danger" : "button.main", { type: "submit" }, action);
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const form = h("form.form", { onsubmit: submit }, h("h2", { id }, title), content, alertBox,
    h("div.actions", {}, go, cancel));
  const dialog = h("dialog", { "aria-labelledby": id, onclose: () => dialog.remove() }, form);

  async function submit(event) {
    event.preventDefault();
    go.disabled = true;
    fill(alertBox);
    try {
      await work();
      dialog.close();
    } catch (error) {
      fill(alertBox, notice("bad", error.message));
      go.disabled = false;
    }
  }

  document.body.append(dialog);
  context.signal.addEventListener("abort", () => dialog.close(), { once: true });
  dialog.showModal();
}

// Ask for another name.
export function renaming(context, kind, before, work) {
  const name = field("New name", h("input", { value: before, required: true, maxlength: MAX_NAME_LENGTH,
    size: "34", autocomplete: "off" }));
  ask(context, { title: `Rename the ${kind}`, content: [name.node], action: "Rename",
    work: () => work(name.input.value) });
  name.input.select();
}
