// Creates DOM elements. Names that users chose are always set as text, never as markup: the page's
// content security policy (trusted types) forbids the browser to parse strings as markup.

const SVG = "http://www.w3.org/2000/svg";

// h("a.link", { href: "#/" }, "text", child): tag and classes, properties, children.
export function h(kind, properties, ...children) {
  const [tag, ...classes] = kind.split(".");
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  return furnish(node, properties, children);
}

// The same for SVG elements.
export function s(kind, properties, ...children) {
  const [tag, ...classes] = kind.split(".");
  const node = document.createElementNS(SVG, tag);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  return furnish(node, properties, children);
}

function furnish(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...whole(children));
  return node;
}

function whole(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

// Replace the children of a node.
export function fill(node, ...children) {
  node.replaceChildren(...whole(children));
  return node;
}

let numbered = 0;

// An id that is unique on the page.
export function unique(stem) {
  numbered += 1;
  return `${stem}-${numbered}`;
}

export function link(to, ...children) {
  return h("a", { href: to }, ...children);
}

// The URL of a page, with its parts escaped.
export function address(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

// A button that copies a text and briefly confirms it.
export function copyButton(text, label = "Copy") {
  const button = h("button.small", { type: "button", "aria-live": "polite" }, label);
  button.addEventListener("click", async () => {
    let told = "Copied";
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      told = copyBySelection(text()) ? "Copied" : "Copy it manually";
    }
    button.textContent = told;
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

// Browsers allow the clipboard API only over TLS, so this is the fallback.
function copyBySelection(text) {
  const area = h("textarea.unseen", { value: text, "aria-hidden": "true" });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
