// The hosts, a page of them at a time, sorted and filtered.

import { get } from "./api.js";
import { $, button, el, say } from "./dom.js";
import { count, rate, when, words } from "./format.js";
import { host as detail } from "./host.js";
import { ordered, search } from "./search.js";
import { redraw, row as cells } from "./table.js";

/** Hosts of a page. */
const LIMIT = 12;
/** Hosts that can be paged through without a filter. */
const MOST = 1_000;
/** A rest before a filter is asked for, milliseconds: who types is not interrupted. */
const REST = 150;

/** Key of the sort (with its direction), heading, text, class. */
const COLUMNS = [
  ["name", "ascending", "host", null, "host"],
  [null, null, "state", (h) => words(h.state), ""],
  ["queue", "descending", "queue", (h) => count(h.queued), "number"],
  [null, null, "done", (h) => count(h.done), "number"],
  ["errors", "descending", "errors", (h) => count(h.errors), "number"],
  ["rate", "descending", "a second", (h) => rate(h.rate), "number"],
  ["next", "ascending", "next", (h) => (h.wait ? `${when(h.wait.until_ms)}${usual(h.wait) ? "" : `, ${words(h.wait.why)}`}` : ""), "next"],
];

const usual = (wait) => wait.why === "gap" || wait.why === "crawl_delay";

let sort = "queue";
let filter = "";
let offset = 0;
/** What the last search found; it is made again with each look only when it took one answer. */
let found = null;
let searching = null;

function heading([key, direction, title, , kind]) {
  if (!key) return el("th", { scope: "col", role: "columnheader", class: kind }, title);
  const pressed = () => {
    [sort, offset] = [key, 0];
    head();
    again();
  };
  const sorting = button({ "data-key": key, "data-sort": key, onclick: pressed }, title);
  return el("th", { scope: "col", role: "columnheader", class: kind, "aria-sort": key === sort ? direction : "none" }, sorting);
}

const head = () => redraw($("hosts-head"), COLUMNS.map(heading));

function row(host) {
  const name = button({ class: "link", "data-key": host.name, onclick: () => detail(host.name) }, host.name);
  return cells(COLUMNS.map(([, , title, , kind]) => [title, kind]), COLUMNS.map(([, , , text]) => (text ? text(host) : name)));
}

function draw(list, more, note) {
  redraw($("hosts"), list.map(row));
  $("hosts-first").disabled = offset === 0;
  $("hosts-next").disabled = !more;
  const shown = list.length ? `${count(offset + 1)} to ${count(offset + list.length)}` : "no hosts";
  say($("hosts-note"), note(shown));
}

/** Sorted, the daemon gives the first ones; a later page is the end of a longer list. */
async function lookAtAll(signal) {
  const limit = Math.min(MOST, offset + LIMIT + 1);
  const page = await get(`api/v1/hosts?sort=${sort}&limit=${limit}`, signal);
  if (filter) return;
  const list = page.items.slice(offset, offset + LIMIT);
  const note = (shown) => (page.all_looked_at ? shown : `${shown}; of the first ${count(page.looked_at)} hosts, others are found by the filter`);
  draw(list, page.items.length > offset + LIMIT, note);
}

function drawFound() {
  const { hosts, looked, all } = found;
  const end = all ? "" : hosts.length && !searching ? "; the search ended there, type more of the name" : `; looking, ${count(looked)} hosts so far`;
  const note = (shown) => `${shown}${hosts.length ? ` of ${count(hosts.length)}` : ""} with that name${end}`;
  draw(ordered(hosts, sort).slice(offset, offset + LIMIT), hosts.length > offset + LIMIT, note);
}

async function lookFor() {
  searching?.abort();
  const mine = (searching = new AbortController());
  const first = found === null;
  try {
    // What is shown already stays until the new look is through.
    const all = await search(filter, mine.signal, (part) => {
      if (!first) return;
      found = part;
      drawFound();
    });
    if (all) found = all;
  } finally {
    if (searching === mine) searching = null;
  }
  if (found && !searching) drawFound();
}

/** Asks once and draws; what has the focus keeps it. */
export async function lookAtHosts(signal) {
  if (!filter) return lookAtAll(signal);
  if (searching || (found && found.answers > 1)) return undefined;
  return lookFor();
}

function again() {
  const look = filter && found ? async () => drawFound() : lookAtHosts;
  look().catch((error) => error.name !== "AbortError" && say($("hosts-note"), error.message));
}

/** Sets the table up. */
export function hosts() {
  let resting;
  $("host-filter").addEventListener("input", () => {
    searching?.abort();
    [filter, offset, found, searching] = [$("host-filter").value.trim(), 0, null, null];
    clearTimeout(resting);
    resting = setTimeout(again, REST);
  });
  $("hosts-first").addEventListener("click", () => {
    offset = 0;
    again();
  });
  $("hosts-next").addEventListener("click", () => {
    offset += LIMIT;
    again();
  });
  head();
}
