// The search of stored pages: what is found, where what was looked for stands in it, how far the index is.

import { get, open } from "./api.js";
import { $, button, complain, el, show } from "./dom.js";
import { lookUp } from "./explain.js";
import { count, moment } from "./format.js";

/** Hits of an answer. */
const HITS = 10;
/** Pages that link to a hit, shown at once. */
const LINKS = 20;

/** A value within a query: what has a space in it is quoted. */
const condition = (name, value) => (value ? ` ${name}:${/\s/.test(value) ? `"${value}"` : value}` : "");

/** What is asked for, of the fields of the form. */
function query() {
  const value = (id) => $(id).value.trim();
  const conditions = condition("site", value("find-site")) + condition("lang", value("find-lang")) + condition("since", value("find-since"));
  return (value("find-text") + conditions).trim();
}

const safe = (url) => /^https?:\/\//.test(url);

/** The text of a page as it is stored, below its hit; a link could not carry the token. */
async function storedText(hit, box) {
  if (!box.hidden) return show(box, false);
  try {
    const answer = await open(`api/v1/snapshot?as=text&url=${encodeURIComponent(hit.url)}&at=${hit.captured_ms}`);
    box.textContent = await answer.text();
  } catch (error) {
    box.textContent = error.message;
  }
  return show(box, true);
}

/** The pages that link to a hit, below it. */
async function linking(hit, box) {
  if (!box.hidden) return show(box, false);
  try {
    const { items, total } = await get(`api/v1/links?direction=in&limit=${LINKS}&url=${encodeURIComponent(hit.url)}`);
    const line = ({ url, text }) => el("li", {}, button({ class: "link", onclick: () => lookUp(url) }, url), text ? ` “${text}”` : "");
    const rest = total > items.length ? [el("li", { class: "quiet" }, `and ${count(total - items.length)} more: lycosa ctl links ${hit.url}`)] : [];
    box.replaceChildren(el("ul", { class: "small" }, ...items.map(line), ...rest));
  } catch (error) {
    complain(box, error);
  }
  return show(box, true);
}

function shownHit(hit) {
  const lang = hit.card.language;
  const title = hit.title ?? hit.url;
  const said = hit.snippet?.length ? hit.snippet.map((piece) => (piece.marked ? el("mark", {}, piece.text) : piece.text)) : [hit.card.abstract ?? ""];
  const facts = [moment(hit.captured_ms).slice(0, 10), lang];
  if (hit.same) facts.push(`${count(hit.same)} more with the same content`);
  if (hit.stale) facts.push("could not be fetched since");
  const stored = el("pre", { class: "stored", tabindex: "0", hidden: true });
  const links = el("div", { hidden: true });
  const from = `linked from ${count(hit.in_links)}`;
  return el(
    "li",
    {},
    el("h3", { lang }, safe(hit.url) ? el("a", { href: hit.url, target: "_blank", rel: "noopener noreferrer" }, title) : title),
    el("p", { class: "address small" }, hit.url),
    el("p", { lang }, ...said),
    el("p", { class: "quiet small" }, facts.filter(Boolean).join(" · "), " · ", hit.in_links ? button({ class: "link", onclick: () => linking(hit, links) }, from) : from, " · ", button({ class: "link", onclick: () => storedText(hit, stored) }, "stored text")),
    links,
    stored,
  );
}

function howFar({ total, partial, as_of: of, left_out: left }) {
  const lines = [`${partial ? "At least " : ""}${count(total)} ${total === 1 ? "page" : "pages"} of ${count(of.documents)}`];
  if (of.behind) lines.push(`the index has ${count(of.behind)} entries of the feed still to read`);
  for (const one of left ?? []) lines.push(`left out: ${one}`);
  return `${lines.join("; ")}.`;
}

let asked = 0;

/** Asks, and shows the answer; `cursor` goes on below what is there. */
async function find(cursor, list) {
  const nth = (asked += 1);
  const box = $("found");
  const about = (text) => el("p", { class: "quiet small" }, text);
  if (!cursor) {
    show(box, true);
    box.replaceChildren(about("looking …"));
  }
  try {
    const more = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const answer = await get(`api/v1/search?q=${encodeURIComponent(query())}&limit=${HITS}&sort=${$("find-sort").value}${more}`);
    if (nth !== asked) return;
    const hits = list ?? el("ol", { class: "hits" });
    hits.append(...answer.hits.map(shownHit));
    const next = answer.next && button({ onclick: () => find(answer.next, hits) }, "More");
    box.replaceChildren(about(howFar(answer)), hits, el("div", { class: "buttons" }, next || null, closing(box)));
  } catch (error) {
    if (nth === asked) complain(box, error, el("div", { class: "buttons" }, closing(box)));
  }
}

function closing(box) {
  const close = () => {
    show(box, false);
    $("find-text").focus();
  };
  return button({ onclick: close }, "Close");
}

/** The search box. */
export function finding() {
  $("find").addEventListener("submit", (event) => {
    event.preventDefault();
    if (query()) find();
  });
  for (const id of ["find-since", "find-sort"]) $(id).addEventListener("change", () => !$("found").hidden && query() && find());
}
