// The live page: asks the daemon once a second while it is seen, and shows what it says.

import { forgetToken, get, pause, Refused } from "./api.js";
import { Bars } from "./bars.js";
import { controls, showControls } from "./controls.js";
import { $, el, say, show } from "./dom.js";
import { lookUp, searching, whyIdle } from "./explain.js";
import { finding } from "./find.js";
import { bytes, count, rate, span, words } from "./format.js";
import { hosts, lookAtHosts } from "./hosts.js";
import { showIdle } from "./idle.js";
import { jobs, lookAtJobs } from "./jobs.js";
import { lookAtMachines, showMachines } from "./machines.js";
import { lookAtActors } from "./pipeline.js";
import { recent } from "./recent.js";
import { reports, showReports } from "./reports.js";
import { retry } from "./retry.js";
import { takeRole } from "./role.js";
import { rules } from "./rules.js";
import { addPoint, lookBack, rateNow } from "./throughput.js";
import { lookAtVisits, showVisits, visits } from "./visits.js";

const EVERY = 1_000;
const PATIENCE = 8_000;

const TILES = [
  ["pages a second", (s) => rate(s.rate)],
  ["captures", (s) => count(s.pages_stored)],
  ["waiting", (s) => count(s.waiting)],
  ["in flight", (s) => count(s.in_flight)],
  ["hosts active", (s) => count(s.hosts_active)],
  ["received", (s) => bytes(s.bytes)],
  ["turned away", (s) => count(s.rejected)],
  ["errors", (s) => count(s.errors), (s) => s.errors > 0],
];

const tiles = TILES.map(([name]) => {
  const value = el("dd", {}, "–");
  $("tiles").append(el("div", { class: "tile" }, el("dt", {}, name), value));
  return value;
});

const errors = new Bars($("errors"), "no errors", { label: "retry", act: retry });
const rejected = new Bars($("rejected"), "nothing turned away");

/** What is held back by suspicion, and how it is taken up again. */
function showHeld({ urls, reasons, shapes }) {
  show($("held"), urls > 0);
  const [first] = shapes;
  const example = first ? ` (${first.urls} of ${first.host}, such as ${first.example})` : "";
  const why = Object.entries(reasons).map(([reason, n]) => `${n} ${words(reason)}`).join(", ");
  say($("held"), `${urls} held back: ${why}, for many pages of their shapes brought nothing new${example}; lycosa ctl urls readmit --held-back takes them up`);
}

/** What it does, in a word: that nothing holds it is no running yet. */
function doing(s) {
  if (s.state !== "running" || s.in_flight > 0 || s.rate > 0 || !s.idle_reason) return s.state;
  return s.waiting + s.processing > 0 ? "waiting" : "idle";
}

let name = "";

/** The word, and the title of the tab. */
function showState(word, titled = words(word)) {
  say($("state"), words(word));
  $("state").dataset.state = word;
  document.title = `${titled}${name && ` – ${name}`} – Lycosa`;
}

function showStatus(s) {
  takeRole(s.role);
  s.rate = rateNow(s);
  say($("crawl"), s.crawl);
  say($("about"), `version ${s.version} · up ${span(s.uptime_seconds)}`);
  name = s.crawl;
  showState(doing(s), doing(s) === "running" ? `${rate(s.rate)}/s` : undefined);
  say($("folder"), `archive: ${s.warc_dir}`);
  showControls(s.state);
  TILES.forEach(([, text, isBad], n) => {
    say(tiles[n], text(s));
    tiles[n].classList.toggle("bad", Boolean(isBad?.(s)));
  });
  errors.show(s.errors_by_reason, s.troubles);
  rejected.show(s.rejected_by_reason, s.troubles);
  showHeld(s.held_back);
  showVisits(s);
  showMachines(s);
  showReports(s);
  addPoint({ t: Date.now(), v: s.rate });
}

let failures = 0;

/** True when the daemon answered. */
async function look() {
  try {
    const status = await get("api/v1/status", AbortSignal.timeout(PATIENCE));
    showStatus(status);
    failures = 0;
    show($("gone"), false);
    await showIdle(status, AbortSignal.timeout(PATIENCE));
    return true;
  } catch (error) {
    failures += 1;
    if (failures > 1) gone(error);
    return false;
  }
}

function gone(error) {
  const words = error instanceof Refused
    ? error.status === 503 ? `The daemon does not crawl at this moment: ${error.message}.` : `The daemon does not answer. It says: ${error.message}.`
    : "The daemon does not answer. It has ended, or cannot be reached.";
  say($("gone"), `${words} This page tries again by itself.`);
  show($("gone"), true);
  show($("idle"), false);
  showState("out_of_reach");
}

/** Parts that are looked at beside the status, and every how many seconds. */
const PARTS = [[lookAtActors, 1], [lookAtJobs, 1], [lookAtHosts, 3], [lookBack, 30], [lookAtVisits, 5], [lookAtMachines, 2]];

/** A part that fails leaves what it shows as it is; the status tells when the daemon is gone. */
async function lookAtParts(round) {
  const due = PARTS.filter(([, every]) => round % every === 0);
  await Promise.allSettled(due.map(([part]) => part(AbortSignal.timeout(PATIENCE))));
}

async function run() {
  for (let round = 0; ; round += 1) {
    if (!document.hidden && (await look())) await lookAtParts(round);
    await pause(failures ? Math.min(5_000, EVERY * failures) : EVERY);
  }
}

controls(look);
searching();
finding();
hosts();
jobs();
rules();
reports();
visits();
recent(lookUp, look);
$("other-token").addEventListener("click", () => {
  forgetToken();
  location.reload();
});
$("idle-more").addEventListener("toggle", () => $("idle-more").open && whyIdle($("idle-why")).catch((e) => say($("idle-why"), e.message)));
run();
