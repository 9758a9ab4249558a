// A form field: label, control, hint.

import { h, unique } from "/assets/dom.js";

export function field(label, input, hint = "") {
  const id = unique("field");
  const hintNode = h("span.hint", { id: `${id}-hint` }, hint);
  input.id = id;
  input.setAttribute("aria-describedby", hintNode.id);
  return { node: h("div.field", {}, h("label", { for: id }, label), input, hintNode), input, hint: hintNode };
}
