// What can be said of one host: each order asks first, and its outcome stays to be read.

import { post, send } from "./api.js";
import { command } from "./ask.js";
import { $, el, tell } from "./dom.js";
import { count, span } from "./format.js";
import { follow } from "./jobs.js";
import { commandButton } from "./role.js";

/** Which orders make sense for what stands. */
const OFFERED = [
  ["pause", (o) => !o.paused],
  ["resume", (o) => o.paused || o.dropping || o.recrawling],
  ["drop", (o) => !o.blocked],
  ["block", (o) => !o.blocked],
  ["unblock", (o) => o.blocked],
  ["recrawl", (o) => !o.blocked && !o.dropping],
];

/** What an order will do to a host of which this is known. */
function question(order, { name, queued, due, done }) {
  const waiting = count(queued + due);
  return {
    pause: { title: `Pause ${name}?`, yes: "Pause it", text: `No new requests go to it, also after a restart, until it is resumed. What is in flight ends; ${waiting} URLs stay in its queue.` },
    resume: { title: `Resume ${name}?`, yes: "Resume it", text: "Requests go to it again, in its own time. The dropping or recrawling of its URLs, if that is under way, ends." },
    drop: { title: `Drop the queue of ${name}?`, yes: "Drop it", danger: true, text: `A job turns away the ${waiting} URLs that wait for it (reason: dropped). Until that is done nothing of it is requested; links to it that are found afterwards are queued again.` },
    block: { title: `Block ${name} for good?`, yes: "Block it", danger: true, text: `Nothing of it is requested or queued any more, also after a restart; a job turns away the ${waiting} URLs that wait for it (reason: blocked). What is stored of it stays.` },
    unblock: { title: `Take the block of ${name} back?`, yes: "Unblock it", text: "Links to it that are found from now on are queued again. What was turned away meanwhile is not, until it is found again." },
    recrawl: { title: `Fetch ${name} once more?`, yes: "Recrawl it", text: `A job queues the ${count(done)} URLs of it that are done: they are fetched again. Older captures are kept.` },
  }[order];
}

/** Times as the daemon reads them: numbers, each with its unit. It has the last word. */
const GAP = /^(\d+\s*[a-z]+\s*)+$/i;

const LABELS = { pause: "Pause", resume: "Resume", drop: "Drop queue", block: "Block", unblock: "Unblock", recrawl: "Recrawl" };
const DANGER = ["drop", "block"];

/** What stands for it after an order. */
function standing({ paused, blocked, dropping, recrawling, min_delay_ms: delay }) {
  const all = { "is blocked": blocked, "is paused": paused, "has its queue dropped": dropping, "is being queued again": recrawling, [`has a gap of at least ${span((delay ?? 0) / 1000)}`]: delay };
  return Object.entries(all).filter(([, since]) => since).map(([words]) => words).join(", ") || "has no order of its own";
}

/** Gives an order, tells what came of it, and follows its job; `changed` shows the host anew. */
async function give(button, asked, act, changed) {
  const answer = await command(button, asked, act, ({ host, orders }) => `${host} ${standing(orders)}.`);
  if (!answer) return;
  const box = $("host-outcome");
  tell(box, "good", `Done: ${answer.host} ${standing(answer.orders)}.`);
  await changed();
  if (!answer.job) return;
  await follow(answer.job, box);
  changed();
}

function delaying(host, orders, path, changed) {
  const field = el("input", { id: "host-gap", type: "text", autocomplete: "off", placeholder: orders.min_delay_ms ? span(orders.min_delay_ms / 1000) : "5s" });
  const order = (button, gap) => {
    const holds = "A Crawl-delay of its robots.txt that asks for more holds all the same.";
    const text = gap === null ? `The gap between two requests is that of the settings again. ${holds}` : `From one answer to the next request at least ${gap} go by, also after a restart. ${holds}`;
    const asked = { title: `Change the gap of ${host.name}?`, text, yes: gap === null ? "As in the settings" : "Set the gap" };
    return give(button, asked, () => send("PUT", `${path}/delay`, { min_delay: gap }), changed);
  };
  const set = commandButton({ type: "submit" }, "Set");
  const back = commandButton({ onclick: () => order(back, null) }, "As in the settings");
  const submit = (event) => {
    event.preventDefault();
    const gap = field.value.trim();
    if (GAP.test(gap)) return order(set, gap);
    tell($("host-outcome"), "bad", gap ? `“${gap}” is no time; expected one such as 5s, 500ms, 1m 30s.` : "How long? Such as 5s.");
    field.focus();
    return undefined;
  };
  return el("form", { class: "asked", onsubmit: submit }, el("label", { for: "host-gap" }, "Own least gap"), field, set, orders.min_delay_ms ? back : null);
}

/** The orders that can be given to a host, from what the daemon tells of it. */
export function ordersFor({ host, orders }, changed) {
  const path = `api/v1/hosts/${encodeURIComponent(host.name)}`;
  const button = (order) => {
    const onclick = ({ currentTarget }) => give(currentTarget, question(order, host), () => post(`${path}/${order}`), changed);
    return commandButton({ "data-key": order, class: DANGER.includes(order) ? "danger" : "", onclick }, LABELS[order]);
  };
  const offered = OFFERED.filter(([, makesSense]) => makesSense(orders)).map(([order]) => button(order));
  return [el("div", { class: "orders", role: "group", "aria-label": "Orders" }, ...offered), delaying(host, orders, path, changed)];
}
