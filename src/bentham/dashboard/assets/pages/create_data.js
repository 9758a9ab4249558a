// The data of a new study: a file to upload, or an existing dataset.

import { all, upload } from "/assets/api.js";
import { fill, h } from "/assets/dom.js";
import { bytes, plural, whole } from "/assets/format.js";
import { choice, notice } from "/assets/parts.js";
import { field } from "/assets/field.js";

const CSV = "text/csv";
const PARQUET = "application/vnd.apache.parquet";
const MAX_NAME_LENGTH = 200;

// `chosen` is the id of an existing dataset to begin with, if any.
export function dataPart(context, owner, use, chosen = "") {
  const body = h("div", {});
  let source = null;
  const open = (which) => {
    source?.leave();
    use(null);
    source = which === "file" ? filePart(context, owner, use) : existingPart(context, owner, use, chosen);
    fill(body, source.node);
  };
  const first = chosen ? "existing" : "file";
  open(first);
  return {
    node: h("div.stack", {},
      h("div", {}, choice("Data source", [["file", "Upload a file"], ["existing", "Use an existing dataset"]],
        first, open)),
      body),
    reset: () => source.reset(),
  };
}

// -- a file

function filePart(context, owner, use) {
  let file = null;
  let current = null;
  const input = h("input.visually-hidden", { type: "file", accept: ".csv,.tsv,.txt,.parquet", id: "file",
    onchange: () => input.files[0] && accept(input.files[0]) });
  const drop = h("label.drop", { for: "file" },
    h("strong", {}, "Drop a CSV or Parquet file here"), h("span", {}, "or click to choose one"),
    h("span.quiet", {}, "The first row of a CSV file must contain the column names."));
  const alertBox = h("div", { role: "alert" });
  const bar = h("progress", { max: 1, "aria-label": "Upload" });
  const shown = h("div.upload", { hidden: true });
  const node = h("div.stack", {}, input, drop, shown, alertBox);

  for (const kind of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) accept(event.dataTransfer.files[0]);
    });
  }

  function accept(chosen) {
    file = chosen;
    input.value = ""; // so that the same file can be chosen again
    send(printable(file.name));
  }

  async function send(name) {
    current?.abort();
    const controller = (current = new AbortController());
    const abort = () => controller.abort();
    context.signal.addEventListener("abort", abort, { once: true });
    use(null);
    fill(alertBox);
    bar.removeAttribute("value");
    const progressText = h("span.quiet", {}, "Uploading …");
    fill(shown, h("strong", {}, file.name), ` ${bytes(file.size)} `, bar, progressText,
      h("button.small", { type: "button", onclick: () => controller.abort() }, "Cancel"));
    shown.hidden = false;
    drop.hidden = input.hidden = true;
    try {
      const most = context.session.largest_upload;
      if (file.size > most) {
        throw new Error(`The file has ${whole(file.size)} bytes, more than the ${whole(most)} that this server ` +
          "accepts. The operator can raise that (bentham serve --max-upload), or draw a sample of the rows.");
      }
      const tenantQuery = owner() ? `&tenant=${encodeURIComponent(owner())}` : "";
      const dataset = await upload(`/datasets?name=${encodeURIComponent(name)}${tenantQuery}`, file, {
        type: await typeOf(file),
        signal: controller.signal,
        progress(share) {
          bar.value = share;
          progressText.textContent = share < 1 ? `${Math.round(100 * share)} %` : "Reading the data …";
        },
      });
      if (controller.signal.aborted) return;
      fill(shown, h("strong", {}, dataset.name), ` ${bytes(dataset.bytes)}, uploaded. `,
        resetButton("Use another file"));
      use(dataset);
    } catch (error) {
      if (current !== controller) return;
      if (error.name === "AbortError") return reset();
      failed(error, name);
    } finally {
      context.signal.removeEventListener("abort", abort);
    }
  }

  function failed(error, name) {
    const again = field("Dataset name", h("input", { value: name, maxlength: MAX_NAME_LENGTH, size: "34",
      onkeydown(event) {
        if (event.key !== "Enter") return;
        event.preventDefault(); // must not submit the study
        send(again.input.value);
      } }));
    fill(shown, h("strong", {}, file.name), ` ${bytes(file.size)}, not uploaded. `, resetButton("Choose another file"),
      error.status === 409 && h("div.stack", {}, again.node,
        h("div.actions", {}, h("button", {
          type: "button", onclick: () => send(again.input.value),
        }, "Upload again"))));
    fill(alertBox, notice("bad", error.message));
  }

  function resetButton(label) {
    return h("button.small", { type: "button", onclick: () => {
      reset();
      input.focus();
    } }, label);
  }

  function reset() {
    current?.abort();
    current = null;
    file = null;
    fill(alertBox);
    shown.hidden = true;
    drop.hidden = input.hidden = false;
    use(null);
  }

  return { node, reset, leave: () => current?.abort() };
}

// Parquet files begin with "PAR1"; the server reads any other file as CSV.
async function typeOf(file) {
  const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  return String.fromCharCode(...start) === "PAR1" ? PARQUET : CSV;
}

function printable(name) {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").trim().slice(0, MAX_NAME_LENGTH) || "data";
}

// -- an existing dataset

function existingPart(context, owner, use, first) {
  const alertBox = h("div", { role: "alert" });
  const chosen = field("Dataset", h("select", {}));
  const node = h("div.stack", {}, chosen.node, alertBox);
  let items = [];

  async function read() {
    fill(chosen.input, h("option", { value: "" }, "Loading …"));
    try {
      items = await all("/datasets?limit=100", 2000, { signal: context.signal });
    } catch (error) {
      if (error.name !== "AbortError") fill(alertBox, notice("bad", error.message));
      return;
    }
    drawOptions();
    if (!items.some((each) => each.id === first)) return;
    chosen.input.value = first;
    await choose();
  }

  function drawOptions() {
    const available = items.filter((each) => owner() === null || !each.tenant || each.tenant === owner());
    chosen.input.disabled = !available.length;
    fill(chosen.input,
      h("option", { value: "" }, available.length ? "Choose a dataset" : "No datasets yet: upload a file"),
      available.map((each) => h("option", { value: each.id },
        `${each.name} (${plural(each.rows, "row")}, ${plural(each.width, "column")})`)));
  }

  async function choose() {
    const id = chosen.input.value;
    fill(alertBox);
    use(null);
    if (!id) return;
    try {
      const dataset = await context.get(`/datasets/${encodeURIComponent(id)}`);
      if (chosen.input.value === id && node.isConnected) use(dataset);
    } catch (error) {
      if (error.name !== "AbortError") fill(alertBox, notice("bad", error.message));
    }
  }

  chosen.input.addEventListener("change", choose);
  read();
  return {
    node,
    reset() {
      use(null);
      drawOptions();
    },
    leave() {},
  };
}
