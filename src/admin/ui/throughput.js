// Pages a second over time: what the daemon remembers, and since then what this page has seen.

import { get } from "./api.js";
import { Chart } from "./chart.js";
import { $, choice, say } from "./dom.js";
import { clock, span } from "./format.js";

/** Seconds shown, and their name. */
const SPANS = [["600", "10 min"], ["3600", "1 h"], ["86400", "1 day"], ["604800", "1 week"]];
/** Seconds that a point of this page's own stands for. */
const SMOOTHED = 6;
/** Part of the time shown that may be without figures before that is said. */
const MISSING = 0.02;
/** Points asked for. */
const POINTS = 400;

const chart = new Chart($("chart"), "pages a second");
let shown = 600;
let remembered = [];
let seen = [];
let looks = [];

/** Pages a second over the last few looks; the daemon's own figure is of the last minute. */
export function rateNow(s) {
  const now = { at: s.uptime_seconds, pages: s.pages_stored };
  looks = [...looks.filter((look) => look.at < now.at && now.at - look.at < SMOOTHED), now];
  const [first] = looks;
  return looks.length > 1 ? (now.pages - first.pages) / (now.at - first.at) : s.pages_per_second;
}

/** One more point of this page's own. */
export function addPoint(point) {
  seen = [...seen, point].slice(-1_000);
  draw(point.t);
}

/** Asks what the daemon remembers. */
export async function lookBack(signal) {
  const { points } = await get(`api/v1/statistics?since=${shown}&points=${POINTS}`, signal);
  remembered = points.slice(1).map((point) => ({ t: point.at_ms, v: point.pages_per_second }));
  draw(Date.now());
}

function draw(now) {
  const last = remembered.at(-1)?.t ?? 0;
  const points = [...remembered, ...seen.filter((point) => point.t > last)];
  if (!points.length) return;
  const from = now - shown * 1_000;
  chart.draw(points, from, now);
  // Figures live in memory: they begin with the process.
  const missing = points[0].t - from > MISSING * shown * 1_000;
  const began = `Figures begin at ${clock(points[0].t)}: ${span((now - points[0].t) / 1_000)} of ${span(shown)}.`;
  say($("chart-note"), missing ? began : "");
}

choice($("spans"), SPANS, String(shown), (key) => {
  shown = Number(key);
  lookBack().catch(() => draw(Date.now()));
});
