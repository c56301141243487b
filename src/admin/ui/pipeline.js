// The way of a page through the actors, alive: queue, rate, restarts of each.

import { get, post } from "./api.js";
import { command } from "./ask.js";
import { $, button, complain, el, say } from "./dom.js";
import { facts } from "./facts.js";
import { count, latency, rate, when } from "./format.js";
import { commandButton } from "./role.js";

const ACTORS = [
  ["supervisor", "Supervisor", "starts and replaces all others"],
  ["frontier", "Frontier", "picks URLs whose turn it is"],
  ["politeness", "Host", "waits until its host may be asked"],
  ["fetcher", "Fetcher", "asks and receives"],
  ["parser", "Parser", "reads the page, finds links"],
  ["deduper", "Deduper", "drops what was seen"],
  ["store", "Store", "writes all of it, or nothing"],
];
/** Messages in a queue that fill its bar. */
const FULL = 200;
/** Messages a second from which the way is drawn as busy. */
const BUSY = 50;

const cards = new Map(ACTORS.map(([kind, name, does]) => [kind, card(kind, name, does)]));
let before = new Map();

function card(kind, name, does) {
  const parts = {
    rate: el("p", { class: "rate" }, "–"),
    depth: el("span", {}, ""),
    bar: el("i"),
    restarts: el("p", { class: "restarts" }, ""),
  };
  const queue = el("div", { class: "queue" }, el("div", { class: "bar" }, parts.bar), parts.depth);
  parts.card = el("li", { class: `actor ${kind}`, "data-kind": kind },
    el("div", {}, el("h3", {}, button({ class: "link", onclick: () => detail(kind, name) }, name)), el("p", { class: "does" }, does)), parts.rate, queue, parts.restarts);
  return parts;
}

function draw(now, seconds) {
  const parts = cards.get(now.kind);
  const last = before.get(now.kind);
  const perSecond = last && seconds > 0 ? Math.max(0, now.handled - last.handled) / seconds : 0;
  parts.rate.replaceChildren(rate(perSecond), el("small", {}, " /s"));
  say(parts.depth, `${count(now.queue)} waiting`);
  parts.bar.style.transform = `scaleX(${Math.min(1, now.queue / FULL)})`;
  parts.card.classList.toggle("moving", perSecond > 0);
  parts.card.classList.toggle("fast", perSecond > BUSY);
  say(parts.restarts, `${count(now.restarts)} restart${now.restarts === 1 ? "" : "s"}`);
  parts.restarts.classList.toggle("bad", now.deaths > 0); // one that was ordered is no fault
}

let at = 0;

/** Asks once and draws. */
export async function lookAtActors(signal) {
  const { actors } = await get("api/v1/pipeline", signal);
  const moment = performance.now();
  for (const now of actors) draw(now, (moment - at) / 1000);
  [before, at] = [new Map(actors.map((now) => [now.kind, now])), moment];
}

/** Every instance of a kind. */
async function detail(kind, name) {
  const dialog = $("actors-dialog");
  say($("actors-title"), name);
  const box = $("actors-facts");
  say(box, "looking …");
  if (!dialog.open) dialog.showModal();
  try {
    const { items, next } = await get(`api/v1/actors?kind=${kind}&limit=50`);
    const more = next ? [el("p", { class: "quiet" }, "The first 50 of more.")] : [];
    box.replaceChildren(...items.map((actor) => one(actor, kind, name, items.length)), ...more);
    if (!items.length) say(box, "None at the moment.");
  } catch (error) {
    complain(box, error);
  }
}

function one(actor, kind, name, n) {
  const { instance, thread, state, queue, handled, restarts, last_fault: fault, observed } = actor;
  const times = { "half within": actor.handle_p50_seconds, "99 of 100 within": actor.handle_p99_seconds };
  const within = Object.entries(times).filter(([, s]) => s).map(([label, s]) => [label, latency(s)]);
  const restart = async (event) => {
    const question = { title: `Restart ${name} ${instance}?`, text: "Its work in hand comes back and is taken up again; nothing is lost.", yes: "Restart" };
    const path = `api/v1/actors/${kind}/${encodeURIComponent(instance)}/restart`;
    if (await command(event.currentTarget, question, () => post(path), () => `${name} ${instance} was restarted.`)) detail(kind, name);
  };
  const told = { state, thread, queue, handled, ...Object.fromEntries(within), restarts, "last death": fault && `${when(fault.at_ms)}: ${fault.why}`, ...observed };
  const body = [facts(told), commandButton({ onclick: restart }, "Restart")];
  return el("details", { open: n === 1 }, el("summary", {}, `${instance} – ${state}`), ...body);
}

$("pipeline").append(...[...cards.values()].map((parts) => parts.card));
