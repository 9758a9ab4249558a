// The application shell: the session, the page that is shown, the state of the connection.

import { acceptSession, get, remove, signedOut } from "/assets/api.js";
import { fill, h } from "/assets/dom.js";
import { clock } from "/assets/format.js";
import { live, renewer } from "/assets/live.js";
import { errorPanel, loadingPanel } from "/assets/parts.js";
import { themeButton } from "/assets/theme.js";

// For each page: the first part of its URL, its module, its name in the navigation, and the role that
// may see it.
const PAGES = [
  { path: "", module: "overview", name: "Overview" },
  { path: "studies", module: "studies", name: "Studies", detail: "study" },
  { path: "datasets", module: "datasets", name: "Datasets", detail: "dataset" },
  { path: "heatmap", module: "heatmap", name: "Heatmap" },
  { path: "devices", module: "devices", name: "Devices", role: "admin" },
  { path: "tenants", module: "tenants", name: "Tenants", role: "admin" },
  { path: "tokens", module: "tokens", name: "Tokens", role: "admin" },
  { path: "whatif", module: "whatif", name: "What if", role: "admin" },
  { path: "new", module: "create", name: "New study" },
  { path: "decisions", module: "decisions", detail: "decision" },
];
const LOADING_MILLISECONDS = 250;
const NO_DEVICE = {
  admin: "Work waits and no device is alive. Start a worker on a machine that can reach this server: bentham worker.",
  tenant: "Your work waits because no device is alive. The operator is shown this, too.",
};

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const tools = document.getElementById("tools");
const banner = document.getElementById("banner");
const spoken = document.getElementById("spoken");

let session = null;
let shown = null; // aborts the page that is shown
let pageShown = false; // whether any page has been shown
let noDevice = false; // whether work waits and no device is alive
const failing = new Map(); // failed updates -> error message

async function start() {
  fill(tools, themeButton());
  try {
    const found = await get("/session", { quiet: true });
    if (found === null) await leave();
    else await enter(found);
  } catch (error) {
    if (error.status === 401) leave();
    else fill(main, errorPanel(error, start));
  }
}

// Show the pages of a session.
async function enter(found) {
  if (!acceptSession(found)) {
    await leave("Sign in again: this browser has lost the CSRF token, which every change needs.");
    return;
  }
  session = found;
  noDevice = found.no_device;
  fill(nav);
  fill(
    tools,
    h("span.who", {}, session.role === "admin" ? "Operator" : session.tenant),
    h("span.pulse", { id: "pulse" }),
    themeButton(),
    h("button.plain", { type: "button", onclick: signOut }, "Sign out"),
  );
  await live.start(session.events);
  checkSession(); // a message may have been sent before the stream was open
  await route();
}

// Show the sign-in page.
async function leave(note = "") {
  shown?.abort();
  session = null;
  noDevice = false;
  pageShown = true;
  failing.clear();
  live.stop();
  fill(nav);
  fill(banner);
  fill(tools, themeButton());
  const { signIn } = await import("/assets/pages/signin.js");
  document.title = "Sign in · Bentham";
  fill(main, signIn(enter, note));
  main.querySelector("input")?.focus();
}

async function signOut() {
  try {
    await remove("/session");
  } catch (error) {
    if (error.status !== 401) {
      fill(banner, h("p.notice.bad", {}, `You are still signed in: ${error.message}`));
      return;
    }
  }
  location.hash = "#/";
  leave("You have signed out.");
}

// Check whether the session is still valid. A 401 may belong to a session that another tab has
// replaced, and the browser cannot tell the stream of an ended session from a lost connection.
async function checkSession() {
  let found = null;
  try {
    found = await get("/session", { quiet: true });
  } catch (error) {
    if (error.status !== 401) return; // the server cannot be reached
  }
  if (session === null) return;
  if (found?.id === session.id) {
    noDevice = found.no_device;
    drawBanner();
    return;
  }
  if (found === null) {
    await leave("Your session has ended. Sign in again to continue.");
    return;
  }
  const same = found.role === session.role && found.tenant === session.tenant;
  if (!same) location.hash = "#/";
  live.stop();
  await enter(found);
}

signedOut.addEventListener("end", checkSession);
live.addEventListener("trouble", checkSession);
live.listen((event) => {
  if (event === null) checkSession(); // messages may have been missed
  else if (event.kind === "no-device") {
    noDevice = event.no_device;
    drawBanner();
  }
}, new AbortController().signal);

// -- routing

async function route() {
  if (session === null) return;
  const [path, ...rest] = location.hash.replace(/^#?\/*|\/+$/g, "").split("/").map(decoded);
  const page = PAGES.find((each) => each.path === path);
  shown?.abort();
  failing.clear();
  drawBanner();
  const controller = (shown = new AbortController());
  drawNavigation(page);
  if (page === undefined) return refuse("Not found", "There is no such page.");
  if (page.role && page.role !== session.role) {
    return refuse("For operators only", `The page ${page.name} is for operators. Ask yours if you need what it shows.`);
  }
  const waiting = setTimeout(() => fill(main, loadingPanel()), LOADING_MILLISECONDS);
  controller.signal.addEventListener("abort", () => clearTimeout(waiting), { once: true });
  try {
    const name = rest.length && page.detail ? page.detail : page.module;
    const { open } = await import(`/assets/pages/${name}.js`).catch(unreachable);
    if (controller.signal.aborted) return;
    await open(contextOf(controller.signal, rest, waiting));
  } catch (error) {
    clearTimeout(waiting);
    if (error.status === 401) await checkSession(); // shows the sign-in page, or the new session
    if (controller.signal.aborted) return;
    document.title = "Error · Bentham";
    fill(main, errorPanel(error, route));
  }
}

function refuse(title, text) {
  document.title = `${title} · Bentham`;
  fill(main, errorPanel(Object.assign(new Error(text), { title }), null));
}

// Replace the browser's error message, which would not help a user.
function unreachable(error) {
  console.info(String(error));
  throw new Error("This page cannot be loaded from the server; check that it is running.");
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The functions that a page can use. Whatever a page starts ends with the page.
function contextOf(signal, parameters, waiting) {
  const eventCount = live.eventCount; // events during loading are delivered once the page listens
  return {
    session,
    parameters,
    signal,
    get: (path) => get(path, { signal }),
    // Called once the page has its content. A screen reader reads the title first.
    show(title, ...nodes) {
      clearTimeout(waiting);
      if (signal.aborted) return;
      document.title = `${title} · Bentham`;
      fill(main, ...nodes);
      window.scrollTo(0, 0);
      // The focused element was removed with the previous page. The first page does not move the focus.
      if (pageShown) main.focus({ preventScroll: true });
      pageShown = true;
    },
    listen: (handler) => live.listen(handler, signal, eventCount),
    renewer: (work, seconds) => renewer(() => tracked(work, signal), seconds, signal),
    every(seconds, work) {
      const timer = setInterval(() => document.hidden || work(), 1000 * seconds);
      signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    },
    reload: route,
    say: (text) => (spoken.textContent = text),
  };
}

function drawNavigation(current) {
  const pages = PAGES.filter((page) => page.name && (!page.role || page.role === session.role));
  if (!nav.firstChild) {
    fill(nav, h("ul", {}, pages.map((page) => h("li", {}, h("a", { href: `#/${page.path}` }, page.name)))));
  }
  nav.querySelectorAll("a").forEach((anchor, place) => {
    if (pages[place] !== current) return anchor.removeAttribute("aria-current");
    anchor.setAttribute("aria-current", "page");
    // On a narrow screen the link may be out of view.
    const list = nav.firstChild;
    list.scrollLeft = anchor.offsetLeft - list.offsetLeft - (list.clientWidth - anchor.offsetWidth) / 2;
  });
}

// -- the state of the connection

live.addEventListener("change", () => {
  const labels = { live: "Live", connecting: "Connecting", lost: "Reconnecting", off: "" };
  const pulse = document.getElementById("pulse");
  if (pulse !== null) {
    pulse.dataset.state = live.state;
    pulse.textContent = labels[live.state];
  }
  drawBanner();
});

function drawBanner() {
  const [reason] = failing.values();
  const when = live.since === null ? "" : ` at ${clock(live.since)}`;
  const text = live.state === "lost"
    ? `The connection was lost${when}. The data may be out of date; reconnecting.`
    : reason && `The data may be out of date: an update failed; retrying. ${reason}`;
  const texts = [text, noDevice && NO_DEVICE[session.role]].filter(Boolean);
  if (banner.textContent !== texts.join("")) {
    fill(banner, texts.map((each) => h("p.notice.warn", {}, each)));
  }
}

// Run an update; if it fails, report that the page may be out of date.
async function tracked(work, signal) {
  try {
    await work();
    if (failing.delete(work)) drawBanner();
  } catch (error) {
    if (signal.aborted || error.status === 401) return;
    failing.set(work, error.message);
    drawBanner();
    throw error;
  }
}

// The fragment of the URL names the page, so the skip link must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

window.addEventListener("hashchange", route);
start();
