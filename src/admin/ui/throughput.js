// Pages a second over time: what the daemon remembers, and since then what this page has seen.

import { get } from "./api.js";
import { Chart } from "./chart.js";
import { $, choice } from "./dom.js";

/** Seconds shown, and their name. */
const SPANS = [["600", "10 min"], ["3600", "1 h"], ["86400", "1 day"], ["604800", "1 week"]];
/** It shows no less than this before there is more to show, milliseconds. */
const SHORTEST = 120_000;
/** Seconds that a point of this page's own stands for. */
const SMOOTHED = 6;
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
  chart.draw(points, Math.max(now - shown * 1_000, Math.min(points[0].t, now - SHORTEST)), now);
}

choice($("spans"), SPANS, String(shown), (key) => {
  shown = Number(key);
  lookBack().catch(() => draw(Date.now()));
});
