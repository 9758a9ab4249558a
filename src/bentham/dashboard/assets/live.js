// Live events. The application has one stream; each page listens while it is shown.

const HIDDEN_MILLISECONDS = 30_000;
const RETRY_MILLISECONDS = 2_000;
const MAX_RECENT = 500; // latest events, for a page that is still loading
const OPENING_MILLISECONDS = 1_000;
const UPDATE_RETRY_SECONDS = 5; // until a failed update is retried

class Live extends EventTarget {
  #source = null;
  #listeners = new Set();
  #hideTimer = null;
  #retry = null;
  #opened = false; // whether pages have read data; a stream opened after that may have missed events
  #recent = [];
  #kinds = []; // kinds of events, as listed by the server
  eventCount = 0; // number of events so far
  state = "off"; // off, connecting, live, lost
  since = null; // when the connection was lost

  // Resolves once the stream is open, or after a timeout. Data read after that misses no event: if the
  // stream opens late, listeners read everything again.
  start(kinds) {
    this.#kinds = kinds;
    document.addEventListener("visibilitychange", this.#visibilityChanged);
    this.#open();
    return new Promise((resolve) => {
      const done = () => {
        this.#opened = true;
        resolve();
      };
      for (const kind of ["open", "error"]) this.#source.addEventListener(kind, done, { once: true });
      setTimeout(done, OPENING_MILLISECONDS);
    });
  }

  stop() {
    this.#opened = false;
    this.#recent = [];
    document.removeEventListener("visibilitychange", this.#visibilityChanged);
    this.#close();
    this.#setState("off");
  }

  // Call `handler` with each event until the signal aborts, starting after event number `after`. It is
  // called with null if events may have been missed.
  listen(handler, signal, after = this.eventCount) {
    if (signal.aborted) return;
    this.#listeners.add(handler);
    const count = this.eventCount - after;
    if (count > this.#recent.length) handler(null);
    else if (count > 0) this.#recent.slice(-count).forEach((event) => handler(event));
    signal.addEventListener("abort", () => this.#listeners.delete(handler), { once: true });
  }

  #open() {
    this.#close();
    this.#setState(this.state === "lost" ? "lost" : "connecting");
    const source = (this.#source = new EventSource("/v1/events"));
    source.onopen = () => {
      const missed = this.#opened; // events may have been missed
      this.since = null;
      this.#setState("live");
      if (missed) this.#deliver(null);
    };
    source.onerror = () => {
      if (this.state !== "lost") this.since = Date.now() / 1000;
      this.#setState("lost");
      this.dispatchEvent(new Event("trouble"));
      // The browser reconnects by itself, unless the response was not a stream.
      if (source.readyState === EventSource.CLOSED) {
        this.#retry = setTimeout(() => this.#open(), RETRY_MILLISECONDS);
      }
    };
    source.addEventListener("reset", () => this.#deliver(null));
    for (const kind of this.#kinds) {
      // The data of a trial has its own `kind`, the device's; the event's kind overrides it.
      source.addEventListener(kind, (event) => this.#deliver({ ...JSON.parse(event.data), kind }));
    }
  }

  #close() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }

  #deliver(event) {
    this.eventCount += 1;
    this.#recent.push(event);
    if (this.#recent.length > MAX_RECENT) this.#recent.shift();
    for (const handler of [...this.#listeners]) handler(event);
  }

  #setState(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }

  // A hidden page closes its connection: browsers allow only six per server.
  #visibilityChanged = () => {
    clearTimeout(this.#hideTimer);
    if (document.hidden) {
      this.#hideTimer = setTimeout(() => this.#close(), HIDDEN_MILLISECONDS);
    } else if (this.#source === null) {
      this.#open(); // listeners then read everything again
      this.dispatchEvent(new Event("trouble")); // the session may have changed, too
    }
  };
}

export const live = new Live();

// Return a function that schedules `work`: at once, then at most once per `seconds`, never twice at
// the same time, and not while the page is hidden. Failed work is retried a little later.
export function renewer(work, seconds, signal) {
  let timer = null;
  let due = false;
  let running = false;
  let last = -Infinity;
  let pause = seconds;

  async function run() {
    timer = null;
    if (signal.aborted) return;
    if (document.hidden) {
      due = true;
      return;
    }
    running = true;
    due = false;
    try {
      await work();
      pause = seconds;
    } catch (error) {
      console.info(String(error));
      due = true;
      pause = Math.max(seconds, UPDATE_RETRY_SECONDS);
    }
    running = false;
    last = performance.now();
    if (due) plan();
  }

  function plan() {
    due = true;
    if (running || timer !== null || signal.aborted) return;
    timer = setTimeout(run, Math.max(0, last + 1000 * pause - performance.now()));
  }

  document.addEventListener("visibilitychange", () => !document.hidden && due && plan(), { signal });
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return plan;
}
