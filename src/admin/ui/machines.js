// The machines of a crawl on several: who is a member, who stands by, and when each was heard of.

import { get } from "./api.js";
import { $, el, say, show } from "./dom.js";
import { count, span, stamp } from "./format.js";
import { redraw, row, table } from "./table.js";

const COLUMNS = [["Machine", "host"], ["State"], ["Heard of"], ["Partitions", "number"], ["Pages", "number"], ["Waiting", "number"], ["Newest copy", "wide"], ["Its endpoint", "wide"]];

const shown = table(COLUMNS);
let there = false;

/** Shows the panel where there is an engine. */
export function showMachines({ member }) {
  there = member?.lease_seconds !== undefined;
  show($("machines"), there);
  if (there) say($("machines-lease"), `requests may be sent for ${span(member.lease_seconds)} without another word from the engine`);
}

function cells(node, asked) {
  const state = el("span", { class: "pill", "data-state": node.is_lost ? "out_of_reach" : node.state === "running" ? "running" : "waiting" },
    node.is_lost && node.state !== "dead" ? "lost" : node.state ?? "never heard of");
  const own = node.state === "spare" ? [null, null, null] : [node.partitions, node.pages, node.waiting];
  const heard = node.beat_age_ms === null ? "never" : node.beat_age_ms < 1000 ? "now" : `${span(node.beat_age_ms / 1000)} ago`;
  const name = [el("strong", {}, node.name), node.name === asked ? " (this one)" : "", node.machine ? el("span", { class: "quiet" }, ` on ${node.machine}`) : ""];
  return [el("span", {}, ...name), state, heard, ...own.map((n) => (n === null ? "" : count(n))), node.checkpoint_ms ? `${stamp(node.checkpoint_ms)} UTC` : "", node.admin ?? ""];
}

/** Asks for them. */
export async function lookAtMachines(signal) {
  if (!there) return;
  const { nodes, engine, asked } = await get("api/v1/nodes", signal);
  if (!shown.isConnected) $("machines-table").append(shown);
  redraw(shown.tBodies[0], nodes.map((node) => row(COLUMNS, cells(node, asked))));
  say($("machines-engine"), engine.connected ? `engine: ${engine.server}` : `the engine is away: ${engine.why ?? "it does not answer"}`);
  $("machines-engine").classList.toggle("bad", !engine.connected);
}
