// The list of datasets, newest first.

import { all } from "/assets/api.js";
import { address, h, link } from "/assets/dom.js";
import { bytes, clock, plural, whole } from "/assets/format.js";
import { emptyPanel, heading, table } from "/assets/parts.js";

const MAX_DATASETS = 2000;

export async function open(context) {
  const list = table("List of datasets", [
    { name: "Dataset", value: (each) => each.name.toLowerCase(),
      show: (each) => link(address("datasets", each.id), each.name) },
    { name: "Owner", value: (each) => each.tenant, show: (each) => each.tenant || "shared by all tenants" },
    { name: "Rows", align: "right", value: (each) => each.rows, show: (each) => whole(each.rows) },
    { name: "Columns", align: "right", value: (each) => each.width, show: (each) => whole(each.width) },
    { name: "Size", align: "right", value: (each) => each.bytes, show: (each) => bytes(each.bytes) },
    { name: "Format", value: (each) => each.format, show: (each) => each.format.toUpperCase() },
    { name: "Added", align: "right", value: (each) => each.created,
      show: (each) => clock(each.created, false) },
  ], { key: (each) => each.id, order: { by: "Added", down: true } });
  const counts = h("p.summary");
  const panel = h("div.panel", {}, counts, list.node);
  const empty = emptyPanel("No datasets yet",
    h("p", {}, "A dataset is a table to train on, uploaded as a CSV or Parquet file."),
    h("a.button.main", { href: "#/new" }, "New study"));
  const body = h("div");

  async function read() {
    const datasets = await all("/datasets?limit=100", MAX_DATASETS, { signal: context.signal });
    body.replaceChildren(datasets.length ? panel : empty);
    const size = datasets.reduce((sum, each) => sum + each.bytes, 0);
    counts.textContent = `${plural(datasets.length, "dataset")}, ${bytes(size)}.` +
      (datasets.length >= MAX_DATASETS ? ` Only the newest ${whole(MAX_DATASETS)} are listed.` : "");
    list.set(datasets);
  }

  await read();
  context.show("Datasets",
    heading("Datasets", h("a.button.main", { href: "#/new" }, "Upload")), body);
  const reread = context.renewer(read, 2);
  context.listen((event) => (event === null || event.kind.startsWith("dataset-")) && reread());
}
