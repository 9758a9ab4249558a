// Creates DOM elements. Names that users chose are always set as text, never as markup: the page's
// content security policy (trusted types) stops the browser from parsing strings as markup.

const SVG = "http://www.w3.org/2000/svg";

// Create an element. h("a.link", { href: "#/" }, "text", child): tag and classes, properties, children.
export function h(kind, properties, ...children) {
  const [tag, ...classes] = kind.split(".");
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  return configure(node, properties, children);
}

// The same for SVG elements.
export function s(kind, properties, ...children) {
  const [tag, ...classes] = kind.split(".");
  const node = document.createElementNS(SVG, tag);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  return configure(node, properties, children);
}

function configure(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...flattened(children));
  return node;
}

function flattened(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

// Replace the children of a node.
export function fill(node, ...children) {
  node.replaceChildren(...flattened(children));
  return node;
}

let idCount = 0;

// A text that may also be broken after points, underscores and slashes, as names are.
export function breakable(text) {
  const parts = text.split(/(?<=[._/])(?=\p{L})/u);
  return parts.flatMap((part, place) => (place ? [h("wbr"), part] : [part]));
}

// An id that is unique on the page.
export function unique(stem) {
  idCount += 1;
  return `${stem}-${idCount}`;
}

export function link(url, ...children) {
  return h("a", { href: url }, ...children);
}

// The URL of a page, with its parts escaped.
export function address(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

// A button that copies a text and briefly confirms it.
export function copyButton(text, label = "Copy") {
  const button = h("button.small", { type: "button", "aria-live": "polite" }, label);
  button.addEventListener("click", async () => {
    let message = "Copied";
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      message = copyBySelection(text()) ? "Copied" : "Copy it manually";
    }
    button.textContent = message;
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

// The fallback: browsers allow the clipboard API only over TLS.
function copyBySelection(text) {
  const area = h("textarea.visually-hidden", { value: text, "aria-hidden": "true" });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
