// Light or dark theme: as the system has it, unless the user chose.

import { h } from "/assets/dom.js";

const ORDER = ["auto", "light", "dark"];
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

function chosen() {
  try {
    const kept = localStorage.getItem("bentham-theme");
    return ORDER.includes(kept) ? kept : "auto";
  } catch {
    return "auto";
  }
}

function apply(theme) {
  document.documentElement.dataset.theme = theme;
  // Canvases must be drawn again.
  document.dispatchEvent(new Event("themechange"));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(chosen()));
apply(chosen());

export function themeButton() {
  const button = h("button.plain.icon", { type: "button" });
  const tell = (theme) => {
    button.textContent = SIGNS[theme];
    button.setAttribute("aria-label", `Colour theme: ${theme}. Change`);
    button.title = `Colour theme: ${theme}`;
  };
  tell(chosen());
  button.addEventListener("click", () => {
    const next = ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length];
    try {
      localStorage.setItem("bentham-theme", next);
    } catch {
      // Without localStorage the choice lasts until the page is closed.
    }
    tell(next);
    apply(next);
  });
  return button;
}

const probe = h("span", { hidden: true });
const known = new Map();
document.addEventListener("themechange", () => known.clear());

// A colour of the style sheet in the current theme, for drawing on a canvas.
export function colour(name) {
  if (!known.has(name)) {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(--${name})`;
    known.set(name, getComputedStyle(probe).color);
  }
  return known.get(name);
}
