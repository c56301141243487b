// The hosts, a page of them at a time, sorted and filtered; one of them in detail.

import { get } from "./api.js";
import { $, el, say, show } from "./dom.js";
import { facts, folded } from "./facts.js";
import { bytes, count, rate, when, words } from "./format.js";

/** Hosts of a page; and so many are looked through for a filter. */
const LIMIT = 12;
const LOOKED_THROUGH = 1_000;

/** Key of the sort (with its direction), heading, text, class. */
const COLUMNS = [
  ["name", "ascending", "host", null, "host"],
  [null, null, "state", (h) => words(h.state), ""],
  ["queue", "descending", "queue", (h) => count(h.queued), "number"],
  [null, null, "done", (h) => count(h.done), "number"],
  ["errors", "descending", "errors", (h) => count(h.errors), "number"],
  ["rate", "descending", "a second", (h) => rate(h.rate), "number"],
  ["next", "ascending", "next", (h) => (h.wait ? `${when(h.wait.until_ms)}${usual(h.wait) ? "" : `, ${words(h.wait.why)}`}` : ""), ""],
];

const usual = (wait) => wait.why === "gap" || wait.why === "crawl_delay";

let sort = "queue";
let filter = "";
let offset = 0;

function heading([key, direction, title, , kind]) {
  if (!key) return el("th", { scope: "col", class: kind }, title);
  const pressed = () => {
    [sort, offset] = [key, 0];
    head();
    lookAtHosts();
  };
  const button = el("button", { type: "button", "data-sort": key, onclick: pressed }, title);
  return el("th", { scope: "col", class: kind, "aria-sort": key === sort ? direction : "none" }, button);
}

function head() {
  const focused = document.activeElement?.dataset?.sort;
  $("hosts-head").replaceChildren(...COLUMNS.map(heading));
  if (focused) $("hosts-head").querySelector(`[data-sort=${focused}]`)?.focus();
}

function row(host) {
  const name = el("button", { type: "button", class: "link", "data-host": host.name, onclick: () => detail(host.name) }, host.name);
  return el("tr", {}, ...COLUMNS.map(([, , , text, kind]) => el("td", { class: kind }, text ? text(host) : name)));
}

/** Asks once and draws; what has the focus keeps it. */
export async function lookAtHosts(signal) {
  // Sorted, the daemon gives the first ones; a later page is the end of a longer list.
  const limit = filter ? LOOKED_THROUGH : Math.min(LOOKED_THROUGH, offset + LIMIT + 1);
  const page = await get(`api/v1/hosts?sort=${sort}&limit=${limit}`, signal);
  const found = page.items.filter((host) => host.name.includes(filter));
  const focused = document.activeElement?.dataset?.host;
  $("hosts").replaceChildren(...found.slice(offset, offset + LIMIT).map(row));
  if (focused) [...$("hosts").querySelectorAll("button")].find((b) => b.dataset.host === focused)?.focus();
  $("hosts-first").disabled = offset === 0;
  $("hosts-next").disabled = found.length <= offset + LIMIT;
  const shown = `${count(offset + 1)} to ${count(Math.min(found.length, offset + LIMIT))}`;
  const of = !found.length ? "no hosts" : filter ? `${shown} of ${count(found.length)} with that name` : shown;
  say($("hosts-note"), page.all_looked_at ? of : `${of}; the first ${count(page.looked_at)} hosts were looked at`);
}

async function detail(name) {
  const dialog = $("host-dialog");
  say($("host-title"), name);
  const box = $("host-facts");
  say(box, "looking …");
  if (!dialog.open) dialog.showModal();
  try {
    const { host, schedule, addresses, address_fault: fault, budget, robots } = await get(`api/v1/hosts/${encodeURIComponent(name)}`);
    const wait = host.wait ? `${when(host.wait.until_ms)}: ${host.wait.words}` : "may be asked now";
    const short = { state: words(host.state), next: wait, "in its queue": host.queued, "waiting for another try": host.due, done: host.done, errors: host.errors, received: bytes(host.bytes) };
    const parts = [facts(short), folded("Schedule", schedule), folded("Addresses", addresses), folded("Page budget", budget), folded("robots.txt", robots)];
    box.replaceChildren(...parts.filter(Boolean), ...(fault ? [el("p", { class: "bad" }, fault)] : []));
  } catch (error) {
    box.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

/** Sets the table up. */
export function hosts() {
  const again = () => lookAtHosts().catch((error) => say($("hosts-note"), error.message));
  $("host-filter").addEventListener("input", () => {
    [filter, offset] = [$("host-filter").value.trim().toLowerCase(), 0];
    again();
  });
  $("hosts-first").addEventListener("click", () => {
    offset = 0;
    again();
  });
  $("hosts-next").addEventListener("click", () => {
    offset += LIMIT;
    again();
  });
  show($("hosts-first"), true);
  head();
}
