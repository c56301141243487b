// Reports as tables, a page at a time, and whole as a file for spreadsheets.

import { get } from "./api.js";
import { $, button, choice, say, show } from "./dom.js";
import { lookUp } from "./explain.js";
import { bytes, count, stamp, words } from "./format.js";
import { about, find, HOLDERS } from "./holders.js";
import { host } from "./host.js";
import { commanding } from "./role.js";
import { saveCsv } from "./save.js";
import { redraw, row, table } from "./table.js";

const LIMIT = 20;
/** The route of those who read the feed, which is no report. */
const READERS = "feed/consumers";
/** The route of visits by host. */
const VISITS = "schedule/hosts";

const opener = (act) => (text) => (text ? button({ class: "link", "data-key": text, onclick: () => act(text) }, text) : "");
const [url, hostName] = [opener(lookUp), opener(host)];
const text = (v) => (v === null || v === undefined ? "" : words(v));
const plain = (v) => v ?? "";
const round = (v) => v.toLocaleString("en-GB", { maximumFractionDigits: 2 });
const time = (ms) => (ms ? stamp(ms) : "");
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
  [VISITS]: ["Visits by host", ["host", "host", "host", hostName], ["pages", "pages", "number", count], ["first", "next (UTC)", "", time], ["load", "wanted a day", "number", round], ["room", "room a day", "number", round], ["stretch", "stretched", "number", round], ["queued", "under way", "number", count], ["owed", "new first", "number", count]],
  [READERS]: ["Readers of the feed", ["name", "name", "host", plain], ["after", "has read up to", "number", count], ["behind", "behind", "number", count], ["hold", "kept for it", "", (hold) => (hold ? "yes" : "no")], ["at_ms", "last heard of (UTC)", "", time]],
};
/** Reports of what is narrowed to a host, and what is asked for then. */
const NARROWED = { "dead-links": "Only links to the host", changes: "Only of the host" };

let report = "seeds";
/** The cursors of the pages gone through; the last one is that of the page shown. */
let cursors = [""];
let next = null;
/** How often was looked. */
let looks = 0;

const isPaged = () => ["seeds", "dead-links", HOLDERS, "changes", "hosts", VISITS].includes(report);

/** The query of a report, without the page. */
function path() {
  const asked = {};
  if (report in NARROWED) asked.host = $("report-host").value.trim();
  if (report === "changes") Object.assign(asked, { kind: $("report-what").value, since: $("report-since").value });
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
  return report === READERS || report === VISITS ? `api/v1/${report}?` : `api/v1/reports/${report}?${query}`;
}

const failed = (error) => say($("report-note"), error.message);

async function look() {
  if (!$("reports").open) return;
  const [mine, cursor] = [++looks, cursors.at(-1)];
  const paging = isPaged() ? `&limit=${LIMIT}${cursor && `&cursor=${encodeURIComponent(cursor)}`}` : "";
  const answer = await get(`${path()}${paging}`);
  if (mine !== looks) return; // an answer that was overtaken says nothing of what is shown now
  const items = answer.items ?? answer.consumers ?? answer;
  if (report === HOLDERS) about(answer.about, $("report-about"));
  next = answer.next ?? null;
  const columns = REPORTS[report].slice(1);
  const parts = columns.map(([, title, kind]) => [title, kind]);
  const made = table(parts);
  redraw(made.tBodies[0], items.map((item) => row(parts, columns.map(([field, , , shown]) => shown(item[field])))));
  redraw($("report-list"), items.length ? [made] : []);
  const from = (cursors.length - 1) * LIMIT;
  say($("report-note"), items.length ? `${count(from + 1)} to ${count(from + items.length)}${next ? ", and more" : ""}` : next === null ? "nothing yet" : "none among these; more follow");
  $("report-back").disabled = cursors.length < 2;
  $("report-next").disabled = next === null;
}

const again = () => look().catch(failed);

function first() {
  [cursors, next] = [[""], null];
  $("report-list").replaceChildren();
  show($("report-host-line"), report in NARROWED);
  say($("report-host-label"), NARROWED[report] ?? "");
  for (const part of document.querySelectorAll(".of-changes")) show(part, report === "changes");
  show($("report-csv"), report !== READERS);
  show($("report-find"), report === HOLDERS);
  say($("report-about"), "");
  again();
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
    if (await find(currentTarget, $("report-about"))) first();
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
