// Signing in by a token.

import { post } from "/assets/api.js";
import { fill, h } from "/assets/dom.js";
import { notice } from "/assets/parts.js";

export function signIn(enter, note) {
  const said = h("div", { role: "alert" }, note && notice("", note));
  const token = h("input", {
    id: "token", name: "token", type: "password", autocomplete: "current-password", required: true,
    spellcheck: "false", placeholder: "bth_…", size: "34", "aria-describedby": "token-hint",
  });
  const keep = h("input", { id: "keep", type: "checkbox" });
  const button = h("button.main", { type: "submit" }, "Sign in");

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    fill(said);
    try {
      const body = { token: token.value.trim(), keep: keep.checked };
      await enter(await post("/session", body, { quiet: true }));
    } catch (error) {
      button.disabled = false;
      fill(said, notice("bad", error.message));
      token.select();
    }
  }

  return h("section.panel.narrow", { "aria-labelledby": "sign-in" },
    h("h1", { id: "sign-in" }, "Sign in"),
    h("p.quiet", {}, "See what the devices do, for whom, and why."),
    said,
    h("form.form", { onsubmit: submit },
      h("div.field", {},
        h("label", { for: "token" }, "Token"),
        token,
        h("span.hint", { id: "token-hint" },
          "Your operator gives it to you. The operator's own is in the file admin.token where the ",
          "server keeps its data.")),
      h("div", {}, keep, " ", h("label", { for: "keep" }, "Stay signed in on this device")),
      h("div.actions", {}, button)));
}
