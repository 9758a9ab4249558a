// The tenants: their weights, limits and usage; create and change them. For operators.

import { patch, post } from "/assets/api.js";
import { ask } from "/assets/dialog.js";
import { h } from "/assets/dom.js";
import { field } from "/assets/field.js";
import { clock, duration, known, number, percent, plural, whole } from "/assets/format.js";
import { emptyPanel, heading, meter, table, usage } from "/assets/parts.js";

const SECONDS = 3600; // per hour

export async function open(context) {
  let parts = new Map(); // a tenant -> its part of the overview
  const share = (each) => parts.get(each.name)?.share ?? null;
  const reached = (each) => parts.get(each.name)?.reached;
  const limit = (value, show) => (known(value) ? ` of ${show(value)}` : "");
  const list = table("List of tenants", [
    { name: "Tenant", value: (each) => each.name, show: (each) => each.name },
    { name: "Weight", align: "right", value: (each) => each.weight, show: (each) => number(each.weight) },
    { name: "Share of device time", align: "right", value: share,
      show: (each) => meter(share(each), percent(share(each))) },
    { name: "Device time", align: "right", value: (each) => each.device_seconds,
      show: (each) => duration(each.device_seconds) },
    { name: "Today (UTC)", align: "right", value: (each) => each.device_seconds_today,
      show: (each) => usage(duration(each.device_seconds_today) +
        limit(each.limits.device_seconds_per_day, duration), reached(each) === "device-time") },
    { name: "Running", align: "right", value: (each) => each.running_trials,
      show: (each) => usage(whole(each.running_trials) + limit(each.limits.running_trials, whole),
        reached(each) === "running-trials") },
    { name: "Open studies", align: "right", value: (each) => each.open_studies,
      show: (each) => whole(each.open_studies) },
    { name: "Studies", align: "right", value: (each) => each.studies, show: (each) => whole(each.studies) },
    { name: "Created", align: "right", value: (each) => each.created,
      show: (each) => clock(each.created, false) },
    { name: "Change", show: (each) => h("button.small", { type: "button", onclick: () => edit(each) },
      "Change", h("span.visually-hidden", {}, ` ${each.name}`)) },
  ], { key: (each) => each.name, order: { by: "Tenant", down: false } });
  const counts = h("p.summary");
  const panel = h("div.panel", {}, counts, list.node,
    h("p.summary", {}, "The weight says how much an improvement for a tenant counts: with weight 2, twice as ",
      "much as with weight 1. A tenant at a limit waits; its running trials continue."));
  const empty = emptyPanel("No tenants yet", h("p", {}, "A tenant owns datasets and studies, and signs in with a token."));
  const body = h("div");

  async function read() {
    const [found, overview] = await Promise.all([context.get("/tenants"), context.get("/overview")]);
    parts = new Map(overview.tenants.map((each) => [each.tenant, each]));
    body.replaceChildren(found.items.length ? panel : empty);
    counts.textContent = `${plural(found.items.length, "tenant")}.`;
    list.set(found.items);
  }

  function edit(tenant = null) {
    const name = field("Name", h("input", { required: true, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]{0,62}",
      autocomplete: "off" }), "Letters, digits, points, hyphens and underscores. It cannot be changed later.");
    const weight = field("Weight", numeric({ min: 1e-6, value: tenant?.weight ?? 1, required: true }));
    const running = field("Running trials, at most",
      h("input", { type: "number", min: 0, step: 1, value: tenant?.limits.running_trials ?? "" }), "Empty: no limit.");
    const hours = field("Device hours per day, at most",
      numeric({ min: 0, value: known(tenant?.limits.device_seconds_per_day)
        ? tenant.limits.device_seconds_per_day / SECONDS : "" }), "Empty: no limit. Days begin at midnight UTC.");
    const value = ({ input }) => (input.value === "" ? null : Number(input.value));
    ask(context, {
      title: tenant ? `Change ${tenant.name}` : "New tenant",
      content: [tenant === null && name.node, weight.node, running.node, hours.node],
      action: tenant ? "Change" : "Create",
      async work() {
        const body = {
          weight: value(weight),
          limits: {
            running_trials: value(running),
            device_seconds_per_day: value(hours) === null ? null : SECONDS * value(hours),
          },
        };
        if (tenant) await patch(`/tenants/${encodeURIComponent(tenant.name)}`, body);
        else await post("/tenants", { name: name.input.value, ...body });
        await read();
      },
    });
  }

  await read();
  context.show("Tenants",
    heading("Tenants", h("button.main", { type: "button", onclick: () => edit() }, "New tenant")), body);
  const reread = context.renewer(read, 2);
  context.listen(reread);
  context.every(15, reread);
}

const numeric = (properties) => h("input", { type: "number", inputmode: "decimal", step: "any", ...properties });
