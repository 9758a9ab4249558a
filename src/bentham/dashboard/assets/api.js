// Client of the server's API; the session cookie authenticates it.

class Problem extends Error {
  constructor(status, title, detail, errors = []) {
    super([detail, ...errors].filter(Boolean).join(" · ") || title);
    this.status = status;
    this.title = title;
  }
}

let csrf = "";
const STORAGE_KEY = "bentham-session";

// Fires "end" when the session may have ended.
export const signedOut = new EventTarget();

// Use the CSRF token of a session for later requests. The server returns it only at sign-in, so it is
// stored in localStorage, which pages of this origin can read and those on other ports of the host cannot.
// Return whether the token is available.
export function acceptSession(session) {
  let stored = { id: session.id, csrf: session.csrf };
  try {
    if (session.csrf) localStorage.setItem(STORAGE_KEY, JSON.stringify(stored));
    else stored = JSON.parse(localStorage.getItem(STORAGE_KEY));
  } catch {
    // Without localStorage it lasts until the page is closed.
  }
  csrf = stored?.id === session.id ? stored.csrf ?? "" : "";
  return csrf !== "";
}

export async function get(path, options = {}) {
  const response = await send("GET", path, undefined, options);
  return response.status === 204 ? null : response.json();
}

export async function text(path, options = {}) {
  return (await send("GET", path, undefined, options)).text();
}

export async function post(path, body = {}, options = {}) {
  const response = await send("POST", path, body, options);
  return response.status === 204 ? null : response.json();
}

export async function patch(path, body, options = {}) {
  return (await send("PATCH", path, body, options)).json();
}

export async function remove(path, options = {}) {
  const response = await send("DELETE", path, undefined, options);
  return response.status === 204 ? null : response.json();
}

// Read all pages of a list, one after the other, until there are `maxItems`.
export async function all(path, maxItems = 2000, options = {}) {
  const items = [];
  let after = null;
  do {
    const separator = path.includes("?") ? "&" : "?";
    const more = after === null ? "" : `${separator}after=${encodeURIComponent(after)}`;
    const page = await get(`${path}${more}`, options);
    items.push(...page.items);
    after = page.next;
  } while (after !== null && items.length < maxItems);
  return items;
}

async function send(method, path, body, { signal, type = "application/json", quiet = false }) {
  const headers = {};
  if (method !== "GET") headers["X-CSRF-Token"] = csrf;
  // If the browser repeats the request after a network error, it still takes effect only once.
  if (method === "POST" && type === "application/json") {
    headers["Idempotency-Key"] = Array.from(crypto.getRandomValues(new Uint32Array(4))).join("-");
  }
  if (body !== undefined) headers["Content-Type"] = type;
  const content = body === undefined || type !== "application/json" ? body : JSON.stringify(body);
  const address = path.startsWith("/") ? `/v1${path}` : path;
  let response;
  try {
    response = await fetch(address, { method, headers, body: content, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "No connection", "The server cannot be reached; check that it is running.");
  }
  if (response.ok) return response;
  if (response.status === 401 && !quiet) signedOut.dispatchEvent(new Event("end"));
  throw problem(response.status, await response.json().catch(() => ({})));
}

function problem(status, body) {
  return new Problem(
    status,
    body.title ?? "Error",
    body.detail ?? `The server answered with status ${status}.`,
    body.errors ?? [],
  );
}

// Upload a file; `progress` is called with the share that is sent, which fetch cannot report.
export function upload(path, file, { type, progress, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const responseBody = () => {
      try {
        return JSON.parse(request.responseText);
      } catch {
        return {};
      }
    };
    request.open("POST", `/v1${path}`);
    request.setRequestHeader("X-CSRF-Token", csrf);
    request.setRequestHeader("Content-Type", type);
    request.upload.onprogress = (event) => progress(event.loaded / Math.max(1, event.total));
    request.onload = () => {
      if (request.status < 300) return resolve(responseBody());
      if (request.status === 401) signedOut.dispatchEvent(new Event("end"));
      reject(problem(request.status, responseBody()));
    };
    // A server closes the connection if the file is too large; browsers do not report the reason.
    request.onerror = () => reject(new Problem(0, "Upload interrupted",
      "The upload was interrupted. Check that the server is running and accepts files of this size."));
    request.onabort = () => reject(new DOMException("The upload was cancelled.", "AbortError"));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}
