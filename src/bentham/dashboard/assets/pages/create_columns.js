// The columns of the data: their inferred types, and notes about irregularities.

import { fill, h } from "/assets/dom.js";
import { plural, whole } from "/assets/format.js";
import { notice, panel, table } from "/assets/parts.js";

const MAX_LISTED = 100; // columns listed; the others can be found by name
export const TYPES = [
  ["number", "number"], ["decimal-comma", "number with decimal comma"], ["yes-no", "yes or no"],
  ["date", "date"], ["day-first", "date, day first"], ["month-first", "date, month first"],
  ["category", "category"], ["any-spelling", "category, any spelling"], ["ignored", "ignored"],
];
const KINDS = { "decimal-comma": "number", "yes-no": "number", "day-first": "date", "month-first": "date", "any-spelling": "category" };

// A value as written in the file and, if that differs, as it is read.
function sample([written, read]) {
  const same = read === written || (written !== "" && Number(written) === Number(read));
  return read && !same ? `${written} = ${read}` : written;
}

export const samplesText = (column) => (column.samples ?? []).map(sample).join("; ") || "–";

// The values of a column with their numbers of rows, if it has few.
export function classesText(column) {
  const values = column.values ?? [];
  const classes = values.slice(0, 6).map(([name, count]) => `${name} (${whole(count)})`).join(", ");
  return classes + (column.distinct > 6 && values.length ? `, and ${whole(column.distinct - 6)} more` : "");
}

// The classes of the target, and columns that alone predict it.
export function describeTarget(column) {
  const classes = classesText(column);
  const alone = (column.predictors ?? []).join(", ");
  return [
    classes && `Values with their numbers of rows: ${classes}.`,
    alone && `Warning: it is predicted almost perfectly by ${alone} alone. Ignore what is known only afterwards.`,
  ].filter(Boolean).join(" ");
}

export function columnsPart(change) {
  let dataset = null;
  let target = "";
  const types = new Map(); // types that differ from the inferred ones
  const selects = new Map();
  const counts = h("p.summary", {});
  const notes = h("div.stack", {});
  const find = h("input", { id: "find-column", type: "search", autocomplete: "off", oninput: () => draw(),
    // Enter in the search field must not submit the form.
    onkeydown: (event) => event.key === "Enter" && event.preventDefault() });
  const filter = h("div.filter", {}, h("label", { for: "find-column" }, "Find a column"), find);
  const list = table("List of columns", [
    { name: "Column", show: columnCell },
    { name: "Type", show: typeCell },
    { name: "As written = as read", show: samplesText },
    { name: "Missing", align: "right", show: (column) => whole(column.missing) },
    { name: "Distinct", align: "right", show: (column) => whole(column.distinct) },
  ], { key: (column) => column.name, maxRows: MAX_LISTED, empty: "No column matches." });
  const node = panel("Columns", counts, notes, filter, h("div.tall.columns-table", {}, list.node));

  // The notes are below the name: on a phone, other columns are out of view.
  function columnCell(column) {
    const text = [column.name === target && "the column to predict", column.note].filter(Boolean).join("; ");
    return h("span.column-name", {}, column.name, text && h("span.quiet", {}, text));
  }

  // Selects are reused, so that the focus stays when a type is chosen.
  function typeCell(column) {
    if (!selects.has(column.name)) selects.set(column.name, typeSelect(column));
    return selects.get(column.name);
  }

  function typeSelect(column) {
    const select = h("select", {
      "aria-label": `Type of ${column.name}`,
      onchange: () => {
        if (select.value === column.type) types.delete(column.name);
        else types.set(column.name, select.value);
        drawCounts();
        change();
      },
    }, TYPES.map(([value, text]) => h("option", { value, selected: value === column.type }, text)));
    return select;
  }

  function drawCounts() {
    const kinds = { number: 0, date: 0, category: 0, ignored: 0 };
    for (const column of dataset.columns) {
      const type = types.get(column.name) ?? column.type;
      kinds[KINDS[type] ?? type] += 1;
    }
    counts.textContent = `${plural(dataset.rows, "row")}, ${plural(dataset.width, "column")}: ` +
      `${plural(kinds.number, "number")}, ${plural(kinds.date, "date")}, ` +
      `${plural(kinds.category, "category", "categories")}, ` +
      `${whole(kinds.ignored)} ignored. Correct types that were inferred wrongly.`;
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
      drawCounts();
      draw();
    },
    // Mark the column to predict.
    mark(name) {
      target = name;
      draw();
    },
  };
}
