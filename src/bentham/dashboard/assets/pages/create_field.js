// A form field: label, control, hint.

import { h, unique } from "/assets/dom.js";

export function field(label, input, hint = "") {
  const id = unique("field");
  const said = h("span.hint", { id: `${id}-hint` }, hint);
  input.id = id;
  input.setAttribute("aria-describedby", said.id);
  return { node: h("div.field", {}, h("label", { for: id }, label), input, said), input, hint: said };
}
