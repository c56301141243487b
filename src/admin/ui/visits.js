// Visits over time, by what they brought: bars of a time each, one colour a kind. And hosts with what is wanted of them.

import { get } from "./api.js";
import { moments } from "./axis.js";
import { steps } from "./chart.js";
import { $, choice, el, say, show, svg } from "./dom.js";
import { clock, count, span } from "./format.js";

const WIDTH = 1000;
const HEIGHT = 170;
const [LEFT, RIGHT, TOP, BOTTOM] = [44, 8, 8, 24];
const BARS = 60;
/** Seconds shown, and their name. */
const SPANS = [["600", "10 min"], ["3600", "1 h"], ["86400", "1 day"], ["604800", "1 week"]];
/** What is shown together: name, kinds of visit. */
const SHOWN = [
  ["new", ["first"]],
  ["changed", ["changed", "back", "redirect"]],
  ["a little", ["little", "numbers", "markup"]],
  ["unchanged", ["unchanged"]],
  ["gone or failed", ["gone", "failed", "rejected", "erased"]],
];

let shown = 3600;
let bars = [];

const x = (part) => LEFT + part * (WIDTH - LEFT - RIGHT);

/** Sums of a time each, from figures that only grow. */
function sums(points, from, until) {
  const all = Array.from({ length: BARS }, (_, n) => ({ t: from + (n * (until - from)) / BARS, n: SHOWN.map(() => 0) }));
  points.slice(1).forEach((point, at) => {
    const bar = all[Math.floor(((point.at_ms - from) / (until - from)) * BARS)];
    if (!bar) return;
    SHOWN.forEach(([, kinds], n) => {
      const of = (p) => kinds.reduce((sum, kind) => sum + (p.visits[kind] ?? 0), 0);
      bar.n[n] += Math.max(0, of(point) - of(points[at]));
    });
  });
  return all;
}

function draw(from, until) {
  const whole = (bar) => bar.n.reduce((a, b) => a + b, 0);
  const most = bars.reduce((m, bar) => Math.max(m, whole(bar)), 0);
  const ticks = steps(most || 1);
  const y = (v) => HEIGHT - BOTTOM - (v / ticks.at(-1)) * (HEIGHT - TOP - BOTTOM);
  const grid = svg("g", { class: "grid" }, ...ticks.map((v) => svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v) })));
  const width = ((WIDTH - LEFT - RIGHT) / BARS) * 0.82;
  const stacks = bars.flatMap((bar, at) => {
    let below = 0;
    return bar.n.map((n, kind) => {
      if (!n) return null;
      const [bottom, top] = [y(below), y(below + n)];
      below += n;
      return svg("rect", { class: `kind${kind}`, x: x(at / BARS), width, y: top, height: bottom - top });
    });
  });
  const figure = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": told(null) }, grid, ...stacks);
  figure.addEventListener("pointermove", (event) => {
    const { left, width: wide } = figure.getBoundingClientRect();
    const part = (((event.clientX - left) / wide) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    say($("visits-read"), told(bars[Math.floor(part * BARS)] ?? null));
  });
  figure.addEventListener("pointerleave", () => say($("visits-read"), told(null)));
  const label = (text, kind, left, top) => {
    const made = el("span", { class: kind }, text);
    [made.style.left, made.style.top] = [`${(left / WIDTH) * 100}%`, `${(top / HEIGHT) * 100}%`];
    return made;
  };
  const at = (t) => x((t - from) / (until - from));
  const edge = (left) => (left > WIDTH - 40 ? "x last" : left < LEFT + 20 ? "x first" : "x");
  const below = moments(from, until).map(({ t, label: text }) => label(text, edge(at(t)), at(t), HEIGHT));
  const labels = el("div", { class: "labels", "aria-hidden": "true" }, ...ticks.map((v) => label(count(v), "y", 0, y(v))), ...below);
  $("visits-chart").replaceChildren(figure, labels);
  say($("visits-read"), told(null));
}

/** A bar in words; without one all of them. */
function told(bar) {
  const n = bar ? bar.n : SHOWN.map((_, kind) => bars.reduce((sum, each) => sum + each.n[kind], 0));
  const parts = SHOWN.map(([name], kind) => [n[kind], name]).filter(([sum]) => sum).map(([sum, name]) => `${count(sum)} ${name}`);
  return `${bar ? clock(bar.t) : `in ${span(shown)}`}: ${parts.length ? parts.join(", ") : "no visits"}`;
}

/** Asks what the daemon remembers of visits. */
export async function lookAtVisits(signal) {
  if (!$("visits").open) return;
  const { points } = await get(`api/v1/statistics?since=${shown}&points=2000`, signal);
  const until = Date.now();
  const from = until - shown * 1_000;
  bars = sums(points, from, until);
  draw(from, until);
}

/** The next visit, and how many a day are wanted. */
export function showVisits(s) {
  const some = s.visits_planned > 0;
  say($("visits-planned"), some ? `${count(s.visits_planned)} pages have a next visit; they ask for ${count(Math.round(s.visits_a_day))} visits a day.` : "No page has a next visit (refresh.cycle).");
}

/** Sets the panel up. */
export function visits() {
  const legend = SHOWN.map(([name], kind) => el("span", { class: `legend kind${kind}` }, name));
  $("visits-legend").replaceChildren(...legend);
  choice($("visits-spans"), SPANS, String(shown), (key) => {
    shown = Number(key);
    lookAtVisits().catch((error) => say($("visits-read"), error.message));
  });
  $("visits").addEventListener("toggle", () => {
    show($("visits-read"), $("visits").open);
    lookAtVisits().catch((error) => say($("visits-read"), error.message));
  });
}
