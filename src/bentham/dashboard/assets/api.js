// Client of the server's API; the session cookie authenticates it.

class Problem extends Error {
  constructor(status, title, detail, errors = []) {
    super([detail, ...errors].filter(Boolean).join(" · ") || title);
    this.status = status;
    this.title = title;
  }
}

let csrf = "";
const KEPT = "bentham-session";

// Fires "end" when the session may have ended.
export const signedOut = new EventTarget();

// The server returns the CSRF token, which every change needs, only at sign-in. It is stored in
// localStorage, which pages of this origin can read and those on other ports of the host cannot.
// Returns whether the token is known.
export function admit(session) {
  let kept = { id: session.id, csrf: session.csrf };
  try {
    if (session.csrf) localStorage.setItem(KEPT, JSON.stringify(kept));
    else kept = JSON.parse(localStorage.getItem(KEPT));
  } catch {
    // Without localStorage it lasts until the page is closed.
  }
  csrf = kept?.id === session.id ? kept.csrf ?? "" : "";
  return csrf !== "";
}

export async function get(path, options = {}) {
  const answer = await send("GET", path, undefined, options);
  return answer.status === 204 ? null : answer.json();
}

export async function text(path, options = {}) {
  return (await send("GET", path, undefined, options)).text();
}

export async function post(path, body = {}, options = {}) {
  const answer = await send("POST", path, body, options);
  return answer.status === 204 ? null : answer.json();
}

export async function remove(path, options = {}) {
  const answer = await send("DELETE", path, undefined, options);
  return answer.status === 204 ? null : answer.json();
}

// Read all pages of a list, one after the other, until there are `most` items.
export async function all(path, most = 2000, options = {}) {
  const items = [];
  let after = null;
  do {
    const joint = path.includes("?") ? "&" : "?";
    const more = after === null ? "" : `${joint}after=${encodeURIComponent(after)}`;
    const page = await get(`${path}${more}`, options);
    items.push(...page.items);
    after = page.next;
  } while (after !== null && items.length < most);
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
  let answer;
  try {
    answer = await fetch(address, { method, headers, body: content, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "No connection", "The server cannot be reached; check that it is running.");
  }
  if (answer.ok) return answer;
  if (answer.status === 401 && !quiet) signedOut.dispatchEvent(new Event("end"));
  throw problem(answer.status, await answer.json().catch(() => ({})));
}

function problem(status, said) {
  return new Problem(
    status,
    said.title ?? "Error",
    said.detail ?? `The server answered with status ${status}.`,
    said.errors ?? [],
  );
}

// Upload a file; `progress` is called with the share that is sent, which fetch cannot report.
export function upload(path, file, { type, progress, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const said = () => {
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
      if (request.status < 300) return resolve(said());
      if (request.status === 401) signedOut.dispatchEvent(new Event("end"));
      reject(problem(request.status, said()));
    };
    // A server closes the connection if the file is too large; browsers do not report the reason.
    request.onerror = () => reject(new Problem(0, "Upload interrupted",
      "The upload was interrupted. Check that the server is running and accepts files of this size."));
    request.onabort = () => reject(new DOMException("The upload was cancelled.", "AbortError"));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}
