// Formats numbers and times for display.

const NONE = "–";

export function known(value) {
  return value !== null && value !== undefined && Number.isFinite(value);
}

// Scores are close to each other, so they get four decimals.
export function score(value) {
  if (!known(value)) return NONE;
  return Math.abs(value) >= 1000 ? exponential(value, 4) : value.toFixed(4);
}

// What a study's best score is: the metric, or computed from it, as for errors (a larger score is better).
export function scoreName({ metric, incumbent, data }) {
  if (!incumbent) return metric;
  const own = incumbent.metrics?.[metric];
  if (!known(own)) return data ? `score from ${metric}` : metric;
  const isScore = Math.abs(own - incumbent.score) <= 1e-9 * Math.abs(own);
  return isScore ? metric : `score from ${metric} ${number(own, 4)}`;
}

export function number(value, digits = 3) {
  if (!known(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return exponential(value, digits);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

// As the server and the command line write it: 2.73e-05.
function exponential(value, digits) {
  return value.toExponential(digits - 1).replace(/(?<=e[+-])\d$/, "0$&");
}

export function whole(value) {
  return known(value) ? Math.round(value).toLocaleString("en") : NONE;
}

export function percent(value, decimals = 0) {
  if (!known(value)) return NONE;
  // A value below 1 is never rounded up to 100 %.
  const digits = decimals === 0 && value > 0.99 && value < 1 ? 1 : decimals;
  const shown = Math.min(100 * value, value < 1 ? 99.9 : 100);
  return `${(digits ? shown : Math.min(shown, value < 1 ? 99 : 100)).toFixed(digits)} %`;
}

export function duration(seconds) {
  if (!known(seconds)) return NONE;
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(2))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  if (seconds < 599.5) return pair(Math.round(seconds), 60, "min", "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return pair(minutes, 60, "h", "min");
  return pair(Math.round(minutes / 60), 24, "d", "h");
}

function pair(count, base, large, small) {
  const rest = count % base;
  return `${Math.floor(count / base)} ${large}${rest ? ` ${rest} ${small}` : ""}`;
}

// A time of day, with the date unless it is today.
export function clock(seconds, withSeconds = true) {
  if (!known(seconds)) return NONE;
  const time = new Date(1000 * seconds);
  const hours = { hour: "2-digit", minute: "2-digit", hour12: false };
  if (withSeconds) hours.second = "2-digit";
  const today = time.toDateString() === new Date().toDateString();
  const day = { month: "short", day: "numeric" };
  return time.toLocaleString("en-GB", today ? hours : { ...day, ...hours });
}

export function bytes(count) {
  if (!known(count)) return NONE;
  const units = ["B", "KB", "MB", "GB"];
  let place = 0;
  let size = count;
  while (size >= 1000 && place < units.length - 1) {
    size /= 1000;
    place += 1;
  }
  return `${Number(size.toPrecision(3))} ${units[place]}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

// A configuration in one line.
export function settings(configuration) {
  return Object.entries(configuration ?? {})
    .map(([name, value]) => `${name}=${typeof value === "number" ? number(value, 4) : value}`)
    .join(", ");
}
