// Light or dark theme: the system setting, unless the user chose one.

import { h } from "/assets/dom.js";

const ORDER = ["auto", "light", "dark"];
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

function chosen() {
  try {
    const stored = localStorage.getItem("bentham-theme");
    return ORDER.includes(stored) ? stored : "auto";
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
  const update = (theme) => {
    button.textContent = SIGNS[theme];
    button.setAttribute("aria-label", `Colour theme: ${theme}. Change`);
    button.title = `Colour theme: ${theme}`;
  };
  update(chosen());
  button.addEventListener("click", () => {
    const next = ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length];
    try {
      localStorage.setItem("bentham-theme", next);
    } catch {
      // Without localStorage the choice lasts until the page is closed.
    }
    update(next);
    apply(next);
  });
  return button;
}

const probe = h("span", { hidden: true });
const cached = new Map();
document.addEventListener("themechange", () => cached.clear());

// A colour of the style sheet in the current theme, for drawing on a canvas.
export function colour(name) {
  if (!cached.has(name)) {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(--${name})`;
    cached.set(name, getComputedStyle(probe).color);
  }
  return cached.get(name);
}
