// Components of pages: headings, tiles, tables, and the loading, empty and error states.

import { breakable, fill, h, unique } from "/assets/dom.js";

export function heading(title, ...extras) {
  return h("div.heading", {}, h("h1", {}, title), h("div.extras", {}, extras));
}

export function panel(title, ...children) {
  const id = unique("panel");
  return h("section.panel", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

// A tile with one figure.
export function tile(name, hint = "") {
  const value = h("span.value", {}, "–");
  const detail = h("span.detail", {}, hint);
  return {
    node: h("div.tile", {}, h("span.name", {}, name), value, detail),
    set(text, more = hint) {
      if (value.textContent !== text) value.textContent = text;
      if (detail.textContent !== more) detail.textContent = more;
    },
  };
}

export function badge(state) {
  return h("span.badge", { "data-state": state }, state);
}

// A use of a limit; a badge says so if the limit keeps a tenant from running more now.
export function usage(text, isReached) {
  if (!isReached) return text;
  return h("span", {}, text, " ", h("span.badge", { "data-state": "waiting" }, "at its limit"));
}

// A value from 0 to 1, as a bar next to its text.
export function meter(value, text) {
  const bar = h("span");
  bar.style.width = `${100 * Math.max(0, Math.min(1, value ?? 0))}%`;
  return h("span.metered", {},
    h("span.meter", { "aria-hidden": "true" }, bar), h("span.reading", {}, text));
}

export function loadingPanel() {
  return h("div.waiting", { role: "status" }, h("span.spinner", { "aria-hidden": "true" }),
    "Loading …");
}

export function emptyPanel(title, ...children) {
  return h("div.empty", {}, h("h2", {}, title), children);
}

export function errorPanel(error, retry) {
  const title = error.status === 404 ? "Not found" : error.title ?? "Something went wrong";
  return h("section.empty", { role: "alert" }, h("h1", {}, title), h("p", {}, error.message),
    h("p", {},
      retry && h("button", { type: "button", onclick: retry }, "Try again"),
      " ",
      h("a", { href: "#/" }, "Go to the overview")));
}

export function notice(kind, ...children) {
  return h(`p.notice.${kind}`, {}, children);
}

// A table. Columns: { name, value(row), show(row), align }; `key` identifies a row. `show` returns text
// or nodes; rows are sorted by `value` when the column header is pressed. For many rows that change
// often, `stamp(row)` returns a string of everything shown, to find the rows that changed.
export function table(caption, columns, options = {}) {
  const { key, empty = "Nothing yet.", maxRows = 500, order, stamp } = options;
  const body = h("tbody");
  const head = h("tr");
  const more = h("p.quiet");
  const state = { rows: [], by: order?.by ?? null, down: order?.down ?? false };
  const drawn = new Map();

  for (const column of columns) {
    const align = column.align ? { class: column.align } : {};
    if (!column.value) {
      head.append(h("th", { scope: "col", ...align }, column.name));
      continue;
    }
    const button = h("button.sort", { type: "button", onclick: () => sortBy(column) }, column.name);
    head.append((column.head = h("th", { scope: "col", ...align }, button)));
  }

  function sortBy(column) {
    const first = column.align === "right"; // numbers: largest first
    state.down = state.by === column.name ? !state.down : first;
    state.by = column.name;
    draw();
  }

  function sorted() {
    const column = columns.find((each) => each.name === state.by);
    for (const each of columns) {
      each.head?.setAttribute("aria-sort",
        each !== column ? "none" : state.down ? "descending" : "ascending");
    }
    if (!column) return state.rows;
    const sign = state.down ? -1 : 1;
    return [...state.rows].sort((one, other) => {
      const [a, b] = [column.value(one), column.value(other)];
      const [missingA, missingB] = [a === null || a === undefined, b === null || b === undefined];
      if (missingA || missingB) return missingA - missingB; // unknown values come last in both directions
      return a < b ? -sign : a > b ? sign : 0;
    });
  }

  function draw() {
    const rows = sorted().slice(0, maxRows);
    if (!rows.length) {
      drawn.clear();
      fill(body, h("tr", {}, h("td.quiet", { colspan: columns.length }, empty)));
    } else {
      const used = new Set();
      let focused = null;
      const nodes = rows.map((row) => {
        const name = key ? key(row) : row;
        used.add(name);
        const stamped = stamp?.(row);
        if (stamped !== undefined && drawn.get(name)?.stamped === stamped) return drawn.get(name).node;
        const cells = columns.map((column) => column.show(row));
        const content = cells.map((cell) => (cell instanceof Node ? cell.outerHTML : cell)).join("\n");
        const before = drawn.get(name);
        if (before?.content === content) {
          before.stamped = stamped;
          return before.node; // keeps the focus
        }
        const node = h("tr", {}, cells.map((cell, place) =>
          place === 0
            ? h("th", { scope: "row", class: columns[0].align }, shownCell(cell, columns[0]))
            : h("td", { class: columns[place].align }, shownCell(cell, columns[place]))));
        if (before?.node.contains(document.activeElement)) {
          focused = [node, focusable(before.node).indexOf(document.activeElement)];
        }
        drawn.set(name, { content, stamped, node });
        return node;
      });
      for (const name of drawn.keys()) if (!used.has(name)) drawn.delete(name);
      body.querySelectorAll("td.quiet[colspan]").forEach((cell) => cell.parentNode.remove());
      arrange(body, nodes);
      if (focused) focusable(focused[0])[focused[1]]?.focus({ preventScroll: true });
    }
    const omitted = state.rows.length - rows.length;
    more.textContent = omitted > 0 ? `And ${omitted.toLocaleString("en")} more.` : "";
  }

  const node = h("div", {},
    h("div.scroll", { tabindex: "0", role: "region", "aria-label": `${caption}: table` },
      h("table", {}, h("caption.visually-hidden", {}, caption), h("thead", {}, head), body)),
    more);
  return {
    node,
    set(rows) {
      state.rows = rows;
      draw();
    },
  };
}

const shownCell = (cell, { align }) => (typeof cell === "string" && !align ? breakable(cell) : cell);

const focusable = (node) => [...node.querySelectorAll("a, button, select, input")];

// Put rows in order. Only those out of place are moved.
function arrange(body, nodes) {
  let place = body.firstChild;
  for (const node of nodes) {
    if (node === place) place = place.nextSibling;
    else body.insertBefore(node, place);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

// A drawing with a title, a one-sentence summary, and a table of the same data.
export function figure(title, drawing, { extras = [], table: list = null } = {}) {
  const id = unique("figure");
  const summary = h("p.summary", {});
  const details = list && h("details", {}, h("summary", {}, "As a table"), list.node);
  const node = h("section.panel", { "aria-labelledby": id },
    h("div.heading", {}, h("h2", { id }, title), h("div.extras", {}, extras)),
    drawing, summary, details);
  return {
    node,
    details,
    summarise(text) {
      if (summary.textContent !== text) summary.textContent = text;
    },
  };
}

// A group of buttons to choose one option.
export function choice(label, options, chosen, change) {
  const group = h("div.choice", { role: "group", "aria-label": label });
  const draw = (now) => {
    fill(group, options.map(([value, name]) =>
      h("button", {
        type: "button",
        "aria-pressed": String(value === now),
        onclick: () => {
          draw(value);
          group.querySelector('[aria-pressed="true"]').focus();
          change(value);
        },
      }, name)));
  };
  draw(chosen);
  return group;
}
