// The machines of a crawl on several: who is a member, who stands by, and when each was heard of.

import { get } from "./api.js";
import { $, el, say, show } from "./dom.js";
import { count, span, stamp } from "./format.js";
import { redraw, row, table } from "./table.js";

const COLUMNS = [["Machine", "host"], ["State"], ["Heard of"], ["Partitions", "number"], ["Pages", "number"], ["Waiting", "number"], ["Links out", "number"], ["Links in", "number"], ["Kept for others", "number"], ["Newest copy", "wide"], ["Its endpoint", "wide"]];

const shown = table(COLUMNS);
let there = false;

/** Shows the panel where there is an engine. */
export function showMachines({ member, members, missing = [] }) {
  there = member?.lease_seconds !== undefined;
  show($("machines"), there);
  if (!there) return;
  const counted = members ? `; the figures of this page are those of ${members.join(", ")} together` : "";
  const without = missing.length > 0 ? `, without ${missing.join(", ")}, who did not answer` : "";
  say($("machines-lease"), `${member.name} may send requests for ${span(member.lease_seconds)} without another word from the engine${counted}${without}`);
  $("machines-lease").classList.toggle("bad", missing.length > 0);
}

/** The partitions as one line, a piece for each machine; those on their way are paler. */
function shares(nodes) {
  const pieces = nodes.filter((node) => node.partitions > 0).flatMap((node) => {
    const piece = (n, going) => {
      const part = el("i", { class: going ? "going" : "", title: `${node.name}: ${count(n)} of 1,024 partitions${going ? ", going to others" : ""}` });
      part.style.flexGrow = n;
      if (!going && n > 60) part.append(node.name);
      return part;
    };
    const stay = node.partitions - node.going;
    return [stay > 0 ? piece(stay, false) : null, node.going > 0 ? piece(node.going, true) : null].filter(Boolean);
  });
  $("machines-shares").replaceChildren(...pieces);
  show($("machines-shares"), nodes.filter((node) => node.partitions > 0).length > 1);
}

function kept(node) {
  return Object.values(node.outbox ?? {}).reduce((sum, waits) => sum + waits.links, 0);
}

function cells(node, asked) {
  const state = el("span", { class: "pill", "data-state": node.is_lost ? "out_of_reach" : node.state === "running" ? "running" : "waiting" },
    node.is_lost && node.state !== "dead" ? "lost" : node.leaving ? "leaving" : node.state ?? "never heard of");
  const own = node.state === "spare" ? Array(6).fill(null) : [node.partitions, node.pages, node.waiting, node.links_out, node.links_in, kept(node)];
  const heard = node.beat_age_ms === null ? "never" : node.beat_age_ms < 1000 ? "now" : `${span(node.beat_age_ms / 1000)} ago`;
  const name = [el("strong", {}, node.name), node.name === asked ? " (this one)" : "", node.machine ? el("span", { class: "quiet" }, ` on ${node.machine}`) : ""];
  return [el("span", {}, ...name), state, heard, ...own.map((n) => (n === null ? "" : count(n))), node.checkpoint_ms ? `${stamp(node.checkpoint_ms)} UTC` : "", node.admin ?? ""];
}

/** Asks for them. */
export async function lookAtMachines(signal) {
  if (!there) return;
  const { nodes, engine, asked } = await get("api/v1/nodes", signal);
  if (!shown.isConnected) $("machines-table").append(shown);
  shares(nodes);
  redraw(shown.tBodies[0], nodes.map((node) => row(COLUMNS, cells(node, asked))));
  say($("machines-engine"), engine.connected ? `engine: ${engine.server}` : `the engine is away: ${engine.why ?? "it does not answer"}`);
  $("machines-engine").classList.toggle("bad", !engine.connected);
}
