// Reports as tables, a page at a time, and whole as a file for spreadsheets.

import { get } from "./api.js";
import { $, button, choice, el, say, show, tell } from "./dom.js";
import { lookUp } from "./explain.js";
import { bytes, count, span, stamp, words } from "./format.js";
import { FRESH, freshness, reckon } from "./fresh.js";
import { about, find, HOLDERS } from "./holders.js";
import { host } from "./host.js";
import { CREDIT, percent, richest } from "./richest.js";
import { commanding } from "./role.js";
import { saveCsv } from "./save.js";
import { redraw, row, table } from "./table.js";

const LIMIT = 20;
/** The route of those who read the feed, which is no report. */
const READERS = "feed/consumers";
/** The route of visits by host. */
const VISITS = "schedule/hosts";
/** Near-duplicates: the report has a line a page, which is what is saved; shown are groups. */
const [NEAR, GROUPS] = ["near-duplicates", "near-duplicates/groups"];

const opener = (act) => (text) => (text ? button({ class: "link", "data-key": text, onclick: () => act(text) }, text) : "");
const [url, hostName] = [opener(lookUp), opener(host)];
const text = (v) => (v === null || v === undefined ? "" : words(v));
const plain = (v) => v ?? "";
const round = (v) => v.toLocaleString("en-GB", { maximumFractionDigits: 2 });
const time = (ms) => (ms ? stamp(ms) : "");
const late = (s) => (s ? span(s) : "");
const atLeast = (n, item) => `${count(n)}${item.more ? " or more" : ""}`;
/** Pages near to another one; of which that has changed since is said so. */
const some = (pages) => el("ul", {}, ...pages.map((page) => el("li", {}, url(page.url), page.still ? null : " (the first has changed since)")));
const ordered = (o) => ["blocked", "paused", "dropping", "recrawling"].filter((name) => o[name]).join(", ");

/** Name of the route: title, and its columns: field, heading, class, how it is shown. */
const REPORTS = {
  seeds: ["Seeds", ["url", "seed", "host", url], ["state", "state", "", text], ["reason", "why", "", text], ["added", "added (UTC)", "", time], ["tags", "tags", "", (tags) => tags.join(" ")]],
  "dead-links": ["Dead links", ["url", "URL", "host", url], ["reason", "why", "", text], ["status", "status", "number", plain], ["when", "given up (UTC)", "", time], ["attempts", "tries", "number", count], ["page", "first found on", "host", url]],
  [HOLDERS]: ["Dead links, all pages", ["url", "URL", "host", url], ["reason", "why", "", text], ["status", "status", "number", plain], ["page", "on the page", "host", url], ["context", "as", "", plain], ["pages", "pages in all", "number", count]],
  changes: ["Changes", ["when", "when (UTC)", "", time], ["kind", "what", "", text], ["url", "URL", "host", url], ["status", "status", "number", plain], ["title", "title", "", plain], ["target", "leads to", "host", url], ["reason", "why", "", text], ["title_before", "title before", "", plain]],
  statuses: ["Statuses", ["status", "status", "host", plain], ["captures", "captures", "number", count]],
  types: ["Types", ["media_type", "type", "host", plain], ["captures", "captures", "number", count], ["bytes", "bytes", "number", bytes]],
  hosts: ["Hosts", ["host", "host", "host", hostName], ["queued", "queued", "number", count], ["retries", "to retry", "number", count], ["done", "done", "number", count], ["errors", "errors", "number", count], ["bytes", "received", "number", bytes], ["orders", "orders", "", ordered]],
  [VISITS]: ["Visits by host", ["host", "host", "host", hostName], ["pages", "pages", "number", count], ["first", "next (UTC)", "", time], ["load", "wanted a day", "number", round], ["room", "room a day", "number", round], ["stretch", "stretched", "number", round], ["due", "due", "number", count], ["late_seconds", "late by", "number", late], ["queued", "under way", "number", count], ["owed", "new first", "number", round], ["held", "held", "", text]],
  [FRESH]: ["Freshness", ["of", "of", "host", plain], ["pages", "pages", "number", count], ["fresh", "as captured", "number", percent], ["age_hours", "not so for (h)", "number", round], ["visited_hours_ago", "visited (h ago)", "number", round]],
  [NEAR]: ["Near-duplicates", ["leader", "first page", "host", url], ["title", "title", "wide", plain], ["members", "near to it", "number", atLeast], ["pages", "such as", "host", some]],
  [CREDIT]: ["Richest pages", ["url", "URL", "host", url], ["share", "of all credit", "number", percent], ["credit", "credit", "number", (n) => n.toPrecision(3)], ["waits", "state", "", (waits, page) => (waits ? `waiting, rank ${page.rank}` : "fetched")]],
  [READERS]: ["Readers of the feed", ["name", "name", "host", plain], ["after", "has read up to", "number", count], ["behind", "behind", "number", count], ["hold", "kept for it", "", (hold) => (hold ? "yes" : "no")], ["at_ms", "last heard of (UTC)", "", time]],
};
/** Reports of what is narrowed to a host, and what is asked for then. */
const NARROWED = { "dead-links": "Only links to the host", changes: "Only of the host", [NEAR]: "Only groups that begin on the host", [CREDIT]: "Only of the host" };
/** What is no list of one route: asked for with the host, and a function that shows a part of it and says whether more is wanted. */
const GATHERED = { [CREDIT]: richest, [FRESH]: freshness };
/** What a job makes: the button's label, and what it does. */
const MADE = { [HOLDERS]: ["Find all pages", find], [FRESH]: ["Reckon", reckon] };

let report = "seeds";
/** The cursors of the pages gone through; the last one is that of the page shown. */
let cursors = [""];
let next = null;
/** How often was looked. */
let looks = 0;
/** Near-duplicates found since the process began. */
let near = 0;

const isPaged = () => ["seeds", "dead-links", HOLDERS, "changes", "hosts", VISITS, NEAR].includes(report);
const narrow = () => $("report-host").value.trim();

/** The query of a report, without the page. */
function path(name = report) {
  const asked = {};
  if (report in NARROWED) asked.host = narrow();
  if (report === "changes") Object.assign(asked, { kind: $("report-what").value, since: $("report-since").value });
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
  return name === READERS || name === VISITS ? `api/v1/${name}?` : `api/v1/reports/${name}?${query}`;
}

const failed = (error) => say($("report-note"), error.message);

/** A page of the report, or all of what is gathered. */
async function ask(mine) {
  const isWanted = () => mine === looks && $("reports").open && !document.hidden;
  const part = (found) => isWanted() && (draw(found), true);
  if (report in GATHERED) return GATHERED[report](narrow(), part);
  const cursor = cursors.at(-1);
  const paging = isPaged() ? `&limit=${LIMIT}${cursor && `&cursor=${encodeURIComponent(cursor)}`}` : "";
  return get(`${path(report === NEAR ? GROUPS : report)}${paging}`);
}

function draw(answer) {
  const items = answer.items ?? answer.consumers ?? answer;
  if (report === HOLDERS) about(answer.about, $("report-about"));
  if (report in GATHERED) tell($("report-about"), "quiet small", answer.about);
  if (report === NEAR) tell($("report-about"), "quiet small", `${count(near)} ${near === 1 ? "page was" : "pages were"} found near to another one since the process began.`);
  next = answer.next ?? null;
  const columns = REPORTS[report].slice(1);
  const parts = columns.map(([, title, kind]) => [title, kind]);
  const made = table(parts);
  redraw(made.tBodies[0], items.map((item) => row(parts, columns.map(([field, , , shown]) => shown(item[field], item)))));
  redraw($("report-list"), items.length ? [made] : []);
  const from = (cursors.length - 1) * LIMIT;
  say($("report-note"), items.length ? `${count(from + 1)} to ${count(from + items.length)}${next ? ", and more" : ""}` : next === null ? "nothing yet" : "none among these; more follow");
  $("report-back").disabled = cursors.length < 2;
  $("report-next").disabled = next === null;
}

async function look() {
  if (!$("reports").open) return;
  const mine = ++looks;
  const answer = await ask(mine);
  if (mine === looks) draw(answer); // one that was overtaken says nothing of what is shown now
}

const again = () => look().catch(failed);

function first() {
  [cursors, next] = [[""], null];
  $("report-list").replaceChildren();
  show($("report-host-line"), report in NARROWED);
  say($("report-host-label"), NARROWED[report] ?? "");
  for (const part of document.querySelectorAll(".of-changes")) show(part, report === "changes");
  show($("report-csv"), report !== READERS && !(report in GATHERED));
  show($("report-find"), report in MADE);
  say($("report-find"), MADE[report]?.[0] ?? "");
  tell($("report-about"), "quiet small", "");
  again();
}

/** Which reports there are, and what is counted, from the status. */
export function showReports(s) {
  for (const [name, there] of [[CREDIT, s.credit], [NEAR, s.near_duplicates]]) {
    show($("report-kinds").querySelector(`[data-choice="${name}"]`), there !== undefined && there !== null);
  }
  near = s.near_duplicates ?? 0;
}

function buttons() {
  $("report-next").addEventListener("click", () => {
    if (next !== null) cursors.push(next);
    again();
  });
  $("report-back").addEventListener("click", () => {
    if (cursors.length > 1) cursors.pop();
    again();
  });
  $("report-csv").addEventListener("click", ({ currentTarget }) => saveCsv(currentTarget, `${path()}&format=csv`, isPaged(), report.replace("/", "-"), $("report-note")).catch(failed));
  commanding($("report-find")).addEventListener("click", async ({ currentTarget }) => {
    const mine = report;
    if ((await MADE[mine][1](currentTarget, $("report-about"))) && mine === report) first();
  });
  $("report-host-line").addEventListener("submit", (event) => {
    event.preventDefault();
    first();
  });
}

/** Sets the panel up. */
export function reports() {
  $("reports").addEventListener("toggle", first);
  const titles = Object.entries(REPORTS).map(([key, [title]]) => [key, title]);
  choice($("report-kinds"), titles, report, (key) => {
    report = key;
    first();
  });
  show($("report-host-line"), false);
  buttons();
}
