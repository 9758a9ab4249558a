// The data of a new study: a file to upload, or an existing dataset.

import { all, upload } from "/assets/api.js";
import { fill, h } from "/assets/dom.js";
import { bytes, plural } from "/assets/format.js";
import { choice, notice } from "/assets/parts.js";
import { field } from "/assets/pages/create_field.js";

const CSV = "text/csv";
const PARQUET = "application/vnd.apache.parquet";
const LONGEST_NAME = 200;

export function dataPart(context, owner, use) {
  const body = h("div", {});
  let way = null;
  const open = (which) => {
    way?.leave();
    use(null);
    way = which === "file" ? filePart(context, owner, use) : knownPart(context, owner, use);
    fill(body, way.node);
  };
  open("file");
  return {
    node: h("div.stack", {},
      h("div", {}, choice("Data source", [["file", "Upload a file"], ["known", "Use an existing dataset"]],
        "file", open)),
      body),
    reset: () => way.reset(),
  };
}

// -- a file

function filePart(context, owner, use) {
  let file = null;
  let going = null;
  const input = h("input.unseen", { type: "file", accept: ".csv,.tsv,.txt,.parquet", id: "file",
    onchange: () => input.files[0] && take(input.files[0]) });
  const drop = h("label.drop", { for: "file" },
    h("strong", {}, "Drop a CSV or Parquet file here"), h("span", {}, "or click to choose one"),
    h("span.quiet", {}, "The first row of a CSV file must contain the column names."));
  const said = h("div", { role: "alert" });
  const bar = h("progress", { max: 1, "aria-label": "Upload" });
  const shown = h("div.upload", { hidden: true });
  const node = h("div.stack", {}, input, drop, shown, said);

  for (const kind of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    });
  }

  function take(chosen) {
    file = chosen;
    input.value = ""; // so that the same file can be chosen again
    send(printable(file.name));
  }

  async function send(name) {
    going?.abort();
    const ending = (going = new AbortController());
    const leaving = () => ending.abort();
    context.signal.addEventListener("abort", leaving, { once: true });
    use(null);
    fill(said);
    bar.removeAttribute("value");
    const told = h("span.quiet", {}, "Uploading …");
    fill(shown, h("strong", {}, file.name), ` ${bytes(file.size)} `, bar, told,
      h("button.small", { type: "button", onclick: () => ending.abort() }, "Cancel"));
    shown.hidden = false;
    drop.hidden = input.hidden = true;
    try {
      const whose = owner() ? `&tenant=${encodeURIComponent(owner())}` : "";
      const dataset = await upload(`/datasets?name=${encodeURIComponent(name)}${whose}`, file, {
        type: await typeOf(file),
        signal: ending.signal,
        progress(share) {
          bar.value = share;
          told.textContent = share < 1 ? `${Math.round(100 * share)} %` : "Reading the data …";
        },
      });
      if (ending.signal.aborted) return;
      fill(shown, h("strong", {}, dataset.name), ` ${bytes(dataset.bytes)}, uploaded. `,
        another("Use another file"));
      use(dataset);
    } catch (error) {
      if (going !== ending) return;
      if (error.name === "AbortError") return begin();
      failed(error, name);
    } finally {
      context.signal.removeEventListener("abort", leaving);
    }
  }

  function failed(error, name) {
    const again = field("Dataset name", h("input", { value: name, maxlength: LONGEST_NAME, size: "34",
      onkeydown(event) {
        if (event.key !== "Enter") return;
        event.preventDefault(); // must not submit the study
        send(again.input.value);
      } }));
    fill(shown, h("strong", {}, file.name), ` ${bytes(file.size)}, not uploaded. `, another("Choose another file"),
      error.status === 409 && h("div.stack", {}, again.node,
        h("div.actions", {}, h("button", {
          type: "button", onclick: () => send(again.input.value),
        }, "Upload again"))));
    fill(said, notice("bad", error.message));
  }

  function another(label) {
    return h("button.small", { type: "button", onclick: () => {
      begin();
      input.focus();
    } }, label);
  }

  function begin() {
    going?.abort();
    going = null;
    file = null;
    fill(said);
    shown.hidden = true;
    drop.hidden = input.hidden = false;
    use(null);
  }

  return { node, reset: begin, leave: () => going?.abort() };
}

// Parquet files begin with "PAR1"; the server reads any other file as CSV.
async function typeOf(file) {
  const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  return String.fromCharCode(...start) === "PAR1" ? PARQUET : CSV;
}

function printable(name) {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").trim().slice(0, LONGEST_NAME) || "data";
}

// -- an existing dataset

function knownPart(context, owner, use) {
  const said = h("div", { role: "alert" });
  const chosen = field("Dataset", h("select", {}));
  const node = h("div.stack", {}, chosen.node, said);
  let items = [];

  async function read() {
    fill(chosen.input, h("option", { value: "" }, "Loading …"));
    try {
      items = await all("/datasets?limit=100", 2000, { signal: context.signal });
    } catch (error) {
      if (error.name !== "AbortError") fill(said, notice("bad", error.message));
      return;
    }
    offer();
  }

  function offer() {
    const own = items.filter((each) => owner() === null || !each.tenant || each.tenant === owner());
    chosen.input.disabled = !own.length;
    fill(chosen.input,
      h("option", { value: "" }, own.length ? "Choose a dataset" : "No datasets yet: upload a file"),
      own.map((each) => h("option", { value: each.id },
        `${each.name} (${plural(each.rows, "row")}, ${plural(each.width, "column")})`)));
  }

  chosen.input.addEventListener("change", async () => {
    const id = chosen.input.value;
    fill(said);
    use(null);
    if (!id) return;
    try {
      const dataset = await context.get(`/datasets/${encodeURIComponent(id)}`);
      if (chosen.input.value === id && node.isConnected) use(dataset);
    } catch (error) {
      if (error.name !== "AbortError") fill(said, notice("bad", error.message));
    }
  });
  read();
  return {
    node,
    reset() {
      use(null);
      offer();
    },
    leave() {},
  };
}
