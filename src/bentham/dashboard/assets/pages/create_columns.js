// What was found in the data: its columns, as what they are taken, and what is odd.

import { fill, h } from "/assets/dom.js";
import { plural, whole } from "/assets/format.js";
import { notice, panel, table } from "/assets/parts.js";

const MOST = 100; // rows of the preview; the rest is found by name
const TYPES = [["number", "number"], ["category", "category"], ["ignored", "ignored"]];

export function columnsPart(change) {
  let dataset = null;
  let target = "";
  const types = new Map(); // those that are not as inferred
  const selects = new Map();
  const counted = h("p.summary", {});
  const notes = h("div.stack", {});
  const find = h("input", { id: "find-column", type: "search", autocomplete: "off", oninput: () => draw(),
    // To find a column is not to create the study.
    onkeydown: (event) => event.key === "Enter" && event.preventDefault() });
  const filter = h("div.filter", {}, h("label", { for: "find-column" }, "Find a column"), find);
  const list = table("Columns, one by one", [
    { name: "Column", show: (column) => column.name },
    { name: "Taken as", show: typeCell },
    { name: "Missing", align: "right", show: (column) => whole(column.missing) },
    { name: "Distinct", align: "right", show: (column) => whole(column.distinct) },
    { name: "Note", show: (column) =>
      [column.note, column.name === target && "to predict"].filter(Boolean).join("; ") || "–" },
  ], { key: (column) => column.name, most: MOST, empty: "No column is called like that." });
  const node = panel("Columns", counted, notes, filter, h("div.tall", {}, list.node));

  // Kept as they are: the focus must not go astray when something is chosen.
  function typeCell(column) {
    if (!selects.has(column.name)) selects.set(column.name, typeSelect(column));
    return selects.get(column.name);
  }

  function typeSelect(column) {
    const select = h("select", {
      "aria-label": `Take ${column.name} as`,
      onchange: () => {
        if (select.value === column.type) types.delete(column.name);
        else types.set(column.name, select.value);
        tell();
        change();
      },
    }, TYPES.map(([value, text]) => h("option", { value, selected: value === column.type }, text)));
    return select;
  }

  function tell() {
    const kinds = { number: 0, category: 0, ignored: 0 };
    for (const column of dataset.columns) kinds[types.get(column.name) ?? column.type] += 1;
    counted.textContent = `${plural(dataset.rows, "row")}, ${plural(dataset.width, "column")}: ` +
      `${plural(kinds.number, "number")}, ${plural(kinds.category, "category", "categories")}, ` +
      `${whole(kinds.ignored)} ignored. Change what was taken for the wrong thing.`;
  }

  function draw() {
    const text = find.value.trim().toLowerCase();
    list.set(dataset.columns.filter((column) => !text || column.name.toLowerCase().includes(text)));
  }

  return {
    node,
    types: () => Object.fromEntries(types),
    show(found) {
      dataset = found;
      types.clear();
      selects.clear();
      find.value = "";
      target = "";
      filter.hidden = found.columns.length <= 20;
      fill(notes, found.notes.map((note) => notice("", note)));
      tell();
      draw();
    },
    // Which one is to be predicted.
    mark(name) {
      target = name;
      draw();
    },
  };
}
