// One host in detail, and what can be said of it.

import { get } from "./api.js";
import { $, complain, el, say } from "./dom.js";
import { facts, folded } from "./facts.js";
import { bytes, when, words } from "./format.js";
import { ordersFor } from "./orders.js";
import { redraw } from "./table.js";

// What the host waits for, in words.
function waits(host) {
  if (host.wait) return `${when(host.wait.until_ms)}: ${host.wait.words}`;
  if (host.state === "held") return "not asked: the operator holds it";
  if (host.state !== "idle") return "may be asked now";
  return host.due ? "nothing now: its URLs wait for their next try" : "nothing is queued";
}

function known({ host, schedule, addresses, address_fault: fault, budget, robots }) {
  const short = { state: words(host.state), orders: host.orders, next: waits(host), "in its queue": host.queued, "waiting for another try": host.due, done: host.done, errors: host.errors, received: bytes(host.bytes) };
  const parts = [facts(short), folded("Schedule", schedule), folded("Addresses", addresses), folded("Page budget", budget), folded("robots.txt", robots)];
  return [...parts.filter(Boolean), ...(fault ? [el("p", { class: "bad" }, fault)] : [])];
}

async function look(name) {
  const [box, orders] = [$("host-facts"), $("host-orders")];
  try {
    const told = await get(`api/v1/hosts/${encodeURIComponent(name)}`);
    if ($("host-title").textContent !== name) return;
    box.replaceChildren(...known(told));
    redraw(orders, ordersFor(told, () => look(name)));
  } catch (error) {
    complain(box, error);
  }
}

/** Opens the dialog of a host. */
export function host(name) {
  const dialog = $("host-dialog");
  say($("host-title"), name);
  say($("host-facts"), "looking …");
  say($("host-outcome"), "");
  $("host-orders").replaceChildren();
  if (!dialog.open) dialog.showModal();
  return look(name);
}
