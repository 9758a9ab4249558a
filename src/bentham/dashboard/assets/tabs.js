// Tabs: one part of a page is shown at a time, and the URL says which.

import { h } from "/assets/dom.js";

// `parts` are { id, name, nodes }. `route` is the URL of the page without a part; the first part needs none.
export function tabs(label, parts, open, route) {
  const buttons = parts.map(({ id, name }) => h("button", {
    type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `part-${id}`, onclick: () => choose(id),
  }, name));
  const panels = parts.map(({ id, nodes }) => h("div.stack", {
    role: "tabpanel", id: `part-${id}`, "aria-labelledby": `tab-${id}`,
  }, nodes));
  const list = h("div.tabs", { role: "tablist", "aria-label": label, onkeydown: step }, buttons);

  function show(id) {
    parts.forEach((part, place) => {
      const chosen = part.id === id;
      buttons[place].setAttribute("aria-selected", String(chosen));
      buttons[place].tabIndex = chosen ? 0 : -1;
      panels[place].hidden = !chosen;
    });
  }

  // Without a navigation, which would read the whole page again.
  function choose(id) {
    show(id);
    history.replaceState(null, "", id === parts[0].id ? route : `${route}/${id}`);
  }

  function step(event) {
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const place = (to + buttons.length) % buttons.length;
    choose(parts[place].id);
    buttons[place].focus();
  }

  show(parts.some(({ id }) => id === open) ? open : parts[0].id);
  return { node: h("div.stack", {}, list, panels), choose };
}
