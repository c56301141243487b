// Why nothing is fetched: ordinary waiting is a quiet line in its own place, what lasts and blocks is a banner.

import { get } from "./api.js";
import { $, say, show } from "./dom.js";

/** Codes of what passes by itself. */
const ORDINARY = ["not_idle", "hosts_waiting", "retries_waiting", "visits_bounded", "waits_for_members", "starting", "checkpoint", "actor_restarting", "held_back"];
/** Looks in a row until a blocker of a running crawl is a banner, and until it is none any more. */
const LASTING = 3;

let looks = 0;
let blocks = false;

/** An answer that fails blocks nothing: the status tells when the daemon is gone. */
async function isBlocked(signal) {
  const { findings } = await get("api/v1/why-idle", signal).catch(() => ({ findings: [] }));
  return findings.some(({ code }) => !ORDINARY.includes(code));
}

/** Shows why nothing is fetched, from the status. */
export async function showIdle({ state, rate, idle_reason: reason }, signal) {
  // Between two requests nothing is in flight either: that alone is worth no word.
  const idle = reason !== "" && (state !== "running" || rate === 0);
  const ordinary = idle && state === "running" && !(await isBlocked(signal));
  if (state !== "running") looks = idle ? LASTING : 0;
  else looks = Math.max(0, Math.min(LASTING, looks + (idle && !ordinary ? 1 : -1)));
  if (looks === LASTING) blocks = true;
  if (looks === 0) blocks = false;
  $("idle").classList.toggle("calm", !blocks);
  show($("idle-more"), blocks);
  if (!blocks || idle) say($("idle-line"), idle ? reason : "");
  show($("idle"), true);
}
