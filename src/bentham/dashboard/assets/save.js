// Files that the page creates for download.

// A table as CSV. Columns: [name, value(row)].
export function csv(columns, rows) {
  const lines = [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, valueOf]) => valueOf(row)))];
  return `${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`;
}

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  // A spreadsheet would evaluate text that begins like a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Download a text as a file.
export function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// A safe file name from any name.
export function fileName(name, ending) {
  const stem = name.normalize("NFKD").replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return `${stem.slice(0, 60) || "study"}${ending}`;
}

// A time in seconds since 1970 as ISO 8601.
export function stamp(seconds) {
  return seconds === null || seconds === undefined ? "" : new Date(1000 * seconds).toISOString();
}
