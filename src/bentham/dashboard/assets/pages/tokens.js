// The tokens: create them and revoke them. For operators.

import { post, remove } from "/assets/api.js";
import { ask } from "/assets/dialog.js";
import { copyButton, fill, h } from "/assets/dom.js";
import { field } from "/assets/field.js";
import { clock, known, plural } from "/assets/format.js";
import { badge, choice, heading, table } from "/assets/parts.js";

const DAY = 86_400;
const ROLES = [["tenant", "tenant: uploads data and follows its studies"],
  ["device", "device: registers devices and runs trials"], ["admin", "admin: does everything"]];
const STATES = [["valid", "Valid"], ["", "All"]];

export async function open(context) {
  let tokens = [];
  let tenants = [];
  let shown = "valid";
  const issued = h("div", { role: "status" });
  const list = table("List of tokens", [
    { name: "Label", value: (each) => each.label.toLowerCase(), show: (each) => each.label || "–" },
    { name: "Role", value: (each) => each.role, show: (each) => each.role },
    { name: "Tenant", value: (each) => each.tenant, show: (each) => each.tenant ?? "–" },
    { name: "State", value: stateOf, show: (each) => badge(stateOf(each)) },
    { name: "Created", align: "right", value: (each) => each.created, show: (each) => clock(each.created, false) },
    { name: "Expires", align: "right", value: (each) => each.expires,
      show: (each) => (known(each.expires) ? clock(each.expires, false) : "never") },
    { name: "Revoked", align: "right", value: (each) => each.revoked, show: (each) => clock(each.revoked, false) },
    { name: "Id", value: (each) => each.id, show: (each) => h("code", {}, each.id) },
    { name: "Revoke", show: (each) => (known(each.revoked) ? "" : h("button.small.danger", {
      type: "button", onclick: () => revoke(each),
    }, "Revoke", h("span.visually-hidden", {}, ` ${each.label || each.id}`))) },
  ], { key: (each) => each.id, order: { by: "Created", down: true }, empty: "No such token." });
  const counts = h("span.summary");
  const states = choice("Tokens shown", STATES, shown, (chosen) => {
    shown = chosen;
    draw();
  });
  const panel = h("div.panel", {}, h("div.filter", {}, counts, states), list.node);

  function draw() {
    const valid = tokens.filter((each) => stateOf(each) === "valid");
    counts.textContent = `${plural(tokens.length, "token")}, ${valid.length} valid.`;
    list.set(shown === "valid" ? valid : tokens);
  }

  async function read() {
    const [found, owners] = await Promise.all([context.get("/tokens"), context.get("/tenants")]);
    tokens = found.items;
    tenants = owners.items;
    draw();
  }

  function create() {
    const role = field("Role", h("select", {}, ROLES.map(([value, text]) => h("option", { value }, text))));
    const tenant = field("Tenant", h("select", {}, tenants.map(({ name }) => h("option", { value: name }, name))));
    const label = field("Label", h("input", { maxlength: 200, autocomplete: "off", size: "34" }),
      "Who or what uses it, so that you know later which one to revoke.");
    const days = field("Expires after (days)",
      h("input", { type: "number", min: 1, max: 36_500, step: 1 }), "Empty: never.");
    role.input.addEventListener("change", () => (tenant.node.hidden = role.input.value !== "tenant"));
    ask(context, {
      title: "New token",
      content: [role.node, tenant.node, label.node, days.node],
      action: "Create",
      async work() {
        const { secret } = await post("/tokens", {
          role: role.input.value,
          label: label.input.value,
          ...(role.input.value === "tenant" && { tenant: tenant.input.value }),
          ...(days.input.value && { expires_in: DAY * Number(days.input.value) }),
        });
        showSecret(secret);
        await read();
      },
    });
  }

  // The server stores only a hash, so this is the one time that the token can be shown.
  function showSecret(secret) {
    fill(issued, h("div.notice", {},
      h("p", {}, h("strong", {}, "The new token."), " Copy it now: it is shown only once."),
      h("div.actions", {}, h("code", { tabindex: "0" }, secret), copyButton(() => secret),
        h("button.small", { type: "button", onclick: () => fill(issued) }, "Hide"))));
  }

  function revoke(token) {
    const devices = token.role === "device" ? " Devices that it registered leave, and their trials are lost." : "";
    ask(context, {
      title: `Revoke ${token.label || token.id}?`,
      content: [h("p", {}, `Whoever uses this token of role ${token.role}` +
        `${token.tenant ? ` of ${token.tenant}` : ""} loses access at once and for good.${devices}`)],
      action: "Revoke it",
      danger: true,
      async work() {
        await remove(`/tokens/${encodeURIComponent(token.id)}`);
        await read();
      },
    });
  }

  await read();
  context.show("Tokens",
    heading("Tokens", h("button.main", { type: "button", onclick: create }, "New token")), issued, panel);
  const reread = context.renewer(read, 5);
  context.listen((event) => event === null && reread());
  context.every(30, reread);
}

function stateOf(token) {
  if (known(token.revoked)) return "revoked";
  return known(token.expires) && token.expires < Date.now() / 1000 ? "expired" : "valid";
}
