// What is taken home: files made in the page.

// A table as CSV. Columns: [name, value(row)].
export function csv(columns, rows) {
  const lines = [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, of]) => of(row)))];
  return `${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`;
}

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  // A text that begins like a formula would be one to a spreadsheet, whoever wrote it.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Hand a text to the browser as a file.
export function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// A name as a file's, whatever was in it.
export function fileName(name, ending) {
  const stem = name.normalize("NFKD").replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return `${stem.slice(0, 60) || "study"}${ending}`;
}

// The time since 1970 as text that everything reads.
export function stamp(seconds) {
  return seconds === null || seconds === undefined ? "" : new Date(1000 * seconds).toISOString();
}
