// A bar chart of a few rows, each with a name and a figure.

import { fill, h } from "/assets/dom.js";
import { clip } from "/assets/fitted.js";

// set([{ name, value, text, style }], sentence): bars start at 0; style: main, faint or second.
export function bars() {
  const node = h("div.bars", { role: "img" });
  return {
    node,
    set(rows, sentence) {
      const maximum = Math.max(0, ...rows.map((row) => row.value));
      node.setAttribute("aria-label", sentence);
      fill(node, rows.map((row) => {
        const share = maximum > 0 ? Math.max(0, row.value) / maximum : 0;
        return h("div.bar", {},
          h("span.name", {}, clip(row.name)),
          h("span.track", {}, h(`span.${row.style ?? "main"}`, { style: { width: `${100 * share}%` } })),
          h("span.figure", {}, row.text));
      }));
    },
  };
}
