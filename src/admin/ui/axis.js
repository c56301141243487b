// Round moments for a time axis.

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];
const STEPS = [1, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY];

const two = (n) => String(n).padStart(2, "0");

function label(t, step) {
  const at = new Date(t);
  const isMidnight = at.getHours() + at.getMinutes() + at.getSeconds() === 0;
  if (step >= DAY || (step >= HOUR && isMidnight)) return at.toLocaleDateString("en-GB", { weekday: "short", day: "numeric" });
  const minutes = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return step < MINUTE ? `${minutes}:${two(at.getSeconds())}` : minutes;
}

/** At most so many round moments (ms, local time) from one to another, each with its label. */
export function moments(from, until, most = 7) {
  const step = STEPS.find((s) => (until - from) / 1_000 / s <= most) ?? 7 * DAY;
  const shift = new Date(until).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((from / 1_000 - shift) / step) * step + shift;
  const n = Math.floor((until / 1_000 - first) / step) + 1;
  return Array.from({ length: Math.max(0, n) }, (_, i) => (first + i * step) * 1_000).map((t) => ({ t, label: label(t, step) }));
}
