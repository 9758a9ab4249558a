// What-if simulations: more or fewer devices, starting from the current posterior.

import { post, remove } from "/assets/api.js";
import { address, fill, h, unique } from "/assets/dom.js";
import { clock, duration, known, percent } from "/assets/format.js";
import { badge, emptyPanel, heading, notice, panel, table } from "/assets/parts.js";
import { outcome } from "/assets/whatif_outcome.js";
import { alreadyReached, answerOf, question, regret, sentence } from "/assets/whatif_words.js";

const MOST_DEVICES = 64;
const ACTIVE = new Set(["waiting", "running"]);

export async function open(context) {
  const [overview, runs] = await Promise.all([context.get("/overview"), context.get("/whatif")]);
  const chosenId = context.parameters[0]
    ?? runs.items.find((run) => ACTIVE.has(run.state) || run.state === "complete")?.id;
  // The list has no curves.
  const chosen = chosenId ? await context.get(`/whatif/${encodeURIComponent(chosenId)}`) : null;
  const container = h("div.form");
  const previous = previousRuns();
  let shown = null; // the run that is shown: { id, state, view }
  let polling = false;

  const form = questionForm(async (body) => {
    const run = await post("/whatif", body, { signal: context.signal });
    history.replaceState(null, "", address("whatif", run.id));
    show(run);
    context.say("The simulation has started.");
    await renewList();
  });

  function show(run) {
    if (shown?.id !== run.id) {
      const view = outcome(run, () => cancel(run.id));
      shown = { id: run.id, view };
      fill(container, view.node);
    }
    shown.state = run.state;
    shown.view.set(run);
  }

  async function cancel(id) {
    await remove(`/whatif/${encodeURIComponent(id)}`, { signal: context.signal });
    await poll();
  }

  async function renewList() {
    previous.set((await context.get("/whatif")).items);
  }

  // While a simulation runs, read its results so far.
  async function poll() {
    if (polling || shown === null || !ACTIVE.has(shown.state)) return;
    polling = true;
    try {
      const run = await context.get(`/whatif/${encodeURIComponent(shown.id)}`);
      if (run.id !== shown.id) return;
      show(run);
      if (ACTIVE.has(run.state)) return;
      context.say(run.state === "complete" ? sentence(run) : `The simulation is ${run.state}.`);
      await renewList();
    } catch (error) {
      if (error.status !== 404) return; // the banner reports a lost connection; the next poll may succeed
      shown = null;
      fill(container, notice("warn", "The server no longer has this simulation: it keeps only the ",
        "latest ones, and none across a restart. Run it again."));
    } finally {
      polling = false;
    }
  }

  context.show("What if",
    heading("What if", h("span.estimate", {}, "estimate")),
    h("p.quiet", {}, "How long until mean regret falls below a level, with more or fewer devices? The open ",
      "studies are simulated many times from their current state, with scores drawn from the posterior, ",
      "under Bentham and under round robin."),
    form.node, container, previous.node);
  form.set(overview);
  previous.set(runs.items);
  if (chosen !== null) show(chosen);
  context.every(1, poll);
  const renew = context.renewer(async () => form.set(await context.get("/overview")), 2);
  context.listen(renew);
}

// The question: the number of devices, and the level of regret.
function questionForm(run) {
  const ids = ["devices", "regret", "draws"].map(unique);
  const devices = h("input", { type: "number", id: ids[0], min: 1, max: MOST_DEVICES, step: 1, required: true });
  const slider = h("input", { type: "range", min: 1, max: MOST_DEVICES, step: 1, "aria-label": "Devices (slider)" });
  const level = h("input", { type: "number", id: ids[1], min: 0, step: "any", "aria-describedby": `${ids[1]}-hint` });
  const draws = h("input", { type: "number", id: ids[2], min: 1, max: 256, step: 1, value: 16, required: true });
  const current = h("span.hint");
  const hint = h("span.hint", { id: `${ids[1]}-hint` });
  const alertBox = h("div", { role: "alert" });
  const button = h("button.main", { type: "submit" }, "Run the simulation");
  let initialised = false;
  let half = 0; // of the regret that the form shows

  devices.addEventListener("input", () => (slider.value = devices.value));
  slider.addEventListener("input", () => (devices.value = slider.value));

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    fill(alertBox);
    try {
      await run({
        devices: Number(devices.value),
        regret: level.value === "" ? half || null : Number(level.value),
        draws: Number(draws.value),
      });
    } catch (error) {
      if (error.name !== "AbortError") fill(alertBox, notice("bad", error.message));
    }
    button.disabled = false;
  }

  const form = h("form.form", { onsubmit: submit },
    alertBox,
    h("div.whatif-form", {},
      h("div.field", {}, h("label", { for: ids[0] }, "Devices"),
        h("div.whatif-devices", {}, devices, slider), current),
      h("div.field", {}, h("label", { for: ids[1] }, "Until mean regret is below"), level, hint)),
    h("details", {}, h("summary", {}, "More options"),
      h("div.field", {}, h("label", { for: ids[2] }, "Draws"), draws,
        h("span.hint", {}, "More draws take longer and make the bands more accurate."))),
    h("div.actions", {}, button));
  const body = h("div", {}, form);
  const node = panel("The question", body);
  node.classList.add("unprinted");

  return {
    node,
    set({ devices: pool, regret_estimate: estimate, queue }) {
      const missing = queue.open_studies === 0 ? noStudy() : !pool?.present ? noDevice() : null;
      if (missing !== null) fill(body, missing);
      else if (!form.isConnected) fill(body, form);
      current.textContent = `Currently ${pool?.present ?? 0}.`;
      hint.textContent = `Currently about ${regret(estimate)}. Default: half of that.`;
      half = estimate / 2;
      level.placeholder = regret(half);
      if (initialised || missing !== null) return;
      initialised = true;
      devices.value = slider.value = Math.max(1, Math.min(MOST_DEVICES, 2 * pool.present));
    },
  };
}

const noStudy = () => emptyPanel("No study is open",
  h("p", {}, "There is nothing to simulate. Create a study or resume one first."),
  h("a", { href: "#/new" }, "Create a study"));

const noDevice = () => emptyPanel("No device is present",
  h("p", {}, "Start a worker first: ", h("code", {}, "bentham worker")));

// The previous simulations.
function previousRuns() {
  const list = table("List of previous questions", [
    { name: "Asked", value: (run) => run.created, show: (run) => clock(run.created) },
    { name: "Question", show: (run) => h("a", { href: address("whatif", run.id) }, question(run)) },
    { name: "State", value: (run) => run.state, show: (run) => badge(run.state) },
    { name: "Answer", align: "right", show: (run) => {
      const answer = answerOf(run, run.devices, "bentham");
      if (answer === null) return run.state === "running" ? percent(run.progress) : "–";
      if (alreadyReached(run)) return "already reached";
      return known(answer.median) ? duration(answer.median) : "not reached";
    } },
    { name: "Draws", align: "right", value: (run) => run.draws, show: (run) => String(run.draws) },
    { name: "Studies", align: "right", value: (run) => run.studies, show: (run) => String(run.studies) },
  ], { key: (run) => run.id });
  const node = panel("Previous questions", list.node,
    h("p.quiet", {}, "The server keeps the latest ones until it stops."));
  node.classList.add("unprinted", "whatif-earlier");
  return {
    node,
    set(runs) {
      node.hidden = runs.length === 0;
      list.set(runs);
    },
  };
}
