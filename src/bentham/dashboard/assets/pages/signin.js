// The sign-in page.

import { post } from "/assets/api.js";
import { fill, h } from "/assets/dom.js";
import { notice } from "/assets/parts.js";

export function signIn(enter, note) {
  const alertBox = h("div", { role: "alert" }, note && notice("", note));
  const token = h("input", {
    id: "token", name: "token", type: "password", autocomplete: "current-password", required: true,
    spellcheck: "false", placeholder: "bth_…", size: "34", "aria-describedby": "token-hint",
  });
  const keep = h("input", { id: "keep", type: "checkbox" });
  const button = h("button.main", { type: "submit" }, "Sign in");

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    fill(alertBox);
    try {
      const body = { token: token.value.trim(), keep: keep.checked };
      await enter(await post("/session", body, { quiet: true }));
    } catch (error) {
      button.disabled = false;
      fill(alertBox, notice("bad", error.message));
      token.select();
    }
  }

  return h("section.panel.narrow", { "aria-labelledby": "sign-in" },
    h("h1", { id: "sign-in" }, "Sign in"),
    h("p.quiet", {}, "See which models the devices train, for which study, and why."),
    alertBox,
    h("form.form", { onsubmit: submit },
      h("div.field", {},
        h("label", { for: "token" }, "Token"),
        token,
        h("span.hint", { id: "token-hint" },
          "Ask your operator for a token. The first admin token is in the file admin.token in the ",
          "server's data directory.")),
      h("div", {}, keep, " ", h("label", { for: "keep" }, "Stay signed in for 30 days")),
      h("div.actions", {}, button)));
}
