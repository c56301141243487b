// Numbers and times for people.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** 12,345; from a million on 1.2M. */
export const count = (n) => (Math.abs(n) < 1e6 ? whole : compact).format(n ?? 0);

/** A rate: one digit after the point while it is small. */
export const rate = (n) => (n >= 100 ? whole.format(n) : (n ?? 0).toFixed(n >= 10 || !n ? 0 : 1));

/** 1.2 GiB. */
export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let value = n ?? 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(unit && value < 100 ? 1 : 0)} ${units[unit]}`;
}

/** 3 d 4 h. */
export function span(seconds) {
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  if (!(seconds >= 1)) return `${Math.max(0, Math.round((seconds || 0) * 1000))} ms`;
  const at = parts.findIndex(([, size]) => seconds >= size);
  const [unit, size] = parts[at];
  const first = Math.floor(seconds / size);
  const next = parts[at + 1];
  const rest = next ? Math.floor((seconds - first * size) / next[1]) : 0;
  return rest ? `${first} ${unit} ${rest} ${next[0]}` : `${first} ${unit}`;
}

/** A short time: 80 µs, 1.3 ms, 2.1 s. */
export function latency(seconds) {
  const [value, unit] = seconds < 0.001 ? [seconds * 1e6, "µs"] : seconds < 1 ? [seconds * 1e3, "ms"] : [seconds, "s"];
  return `${value.toFixed(value < 10 && unit !== "µs" ? 1 : 0)} ${unit}`;
}

/** "in 3 s", "now", "2 min ago". */
export function when(ms, now = Date.now()) {
  const ahead = (ms - now) / 1000;
  if (Math.abs(ahead) < 1) return "now";
  return ahead > 0 ? `in ${span(ahead)}` : `${span(-ahead)} ago`;
}

/** A moment in UTC, without saying so. */
export const stamp = (ms) => new Date(ms).toISOString().replace("T", " ").slice(0, 19);

/** A moment in UTC. */
export const moment = (ms) => `${stamp(ms)} UTC`;

/** Clock time. */
export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

/** snake_case as words. */
export const words = (name) => String(name).replaceAll("_", " ");
