// Hosts found by a part of their name: the daemon looks at a bounded number for each answer, the page goes on to the end.

import { get } from "./api.js";

/** Hosts that are found at most. */
const MOST = 200;
/** Longest wait for one answer, milliseconds. */
const PATIENCE = 10_000;

const late = (host) => host.wait?.until_ms ?? 0;
const ORDERS = {
  name: (a, b) => a.name.localeCompare(b.name),
  queue: (a, b) => b.queued - a.queued,
  errors: (a, b) => b.errors - a.errors,
  rate: (a, b) => b.rate - a.rate,
  next: (a, b) => late(a) - late(b),
};

/** Hosts in the order of a column. */
export const ordered = (hosts, sort) => [...hosts].sort(ORDERS[sort]);

/** Looks for hosts; `told` hears what was found so far. Gives {hosts, looked, all, answers}; nothing when it was called off. */
export async function search(part, signal, told) {
  const found = { hosts: [], looked: 0, all: false, answers: 0 };
  let cursor = "";
  while (!signal.aborted && found.hosts.length < MOST) {
    const query = `contains=${encodeURIComponent(part)}&limit=${MOST}${cursor}`;
    const page = await get(`api/v1/hosts?${query}`, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]));
    found.hosts.push(...page.items);
    found.looked += page.looked_at;
    found.answers += 1;
    found.all = !page.next;
    if (signal.aborted) break;
    told(found);
    if (found.all) return found;
    cursor = `&cursor=${encodeURIComponent(page.next)}`;
  }
  return signal.aborted ? undefined : found;
}
