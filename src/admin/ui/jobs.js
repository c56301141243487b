// Background jobs: the list while it is unfolded, and one of them followed to its end.

import { get, pause, send } from "./api.js";
import { command } from "./ask.js";
import { $, el, say, show, tell } from "./dom.js";
import { count, moment, span, when, words } from "./format.js";
import { commandButton } from "./role.js";
import { redraw, row, table } from "./table.js";

const EVERY = 1_000;
const COLUMNS = [["job", "number"], ["work", ""], ["of", "host"], ["state", ""], ["looked at", "number"], ["changed", "number"], ["since", ""], ["", ""]];
/** What of a result is a time. */
const TIMES = ["made", "started", "ended", "at"];
const STATES = { running: "", done: "good", failed: "bad", cancelled: "warn" };

const list = table(COLUMNS);
$("jobs-list").append(list);

/** What a job found, in a line. */
function found({ error, result }) {
  if (error) return error;
  const parts = Object.entries(result ?? {}).filter(([, v]) => typeof v === "number" || typeof v === "string");
  const value = (name, v) => (TIMES.includes(name) ? moment(v) : typeof v === "number" ? count(v) : v);
  return parts.map(([name, v]) => `${words(name)} ${value(name, v)}`).join(", ");
}

/** How far a job is, in a sentence. */
export function progress(job) {
  const { id, kind, state, looked, changed } = job;
  const far = `${count(looked)} looked at, ${count(changed)} changed`;
  const end = { running: "at work", done: "done", failed: "failed", cancelled: "cancelled" }[state];
  return [`Job ${id} (${kind}): ${end}`, far, state === "running" ? "" : found(job)].filter(Boolean).join("; ");
}

/** Follows a job to its end, and says in a box how far it is. Gives it as it ended; nothing when the daemon is gone. */
export async function follow(job, box) {
  let now = job;
  for (;;) {
    if (box) tell(box, STATES[now.state], progress(now));
    if (now.state !== "running") return now;
    await pause(EVERY);
    if (document.hidden) continue;
    try {
      now = await get(`api/v1/jobs/${job.id}`);
    } catch (error) {
      if (box) say(box, `Job ${job.id}: ${error.message}`);
      return undefined;
    }
  }
}

function line(job) {
  const { id, kind, about, state, looked, changed, started, ended } = job;
  const time = state === "running" ? when(started) : `${when(started)}, took ${span((ended - started) / 1000)}`;
  const told = el("span", { class: STATES[state] }, [words(state), state === "running" ? "" : found(job)].filter(Boolean).join(": "));
  return row(COLUMNS, [count(id), kind, about, told, count(looked), count(changed), time, state === "running" ? cancelling(job) : ""]);
}

function cancelling({ id, kind, about }) {
  const question = { title: `Cancel job ${id}?`, text: `${kind} ${about}: it stops after its step; what it has done stands.`, yes: "Cancel the job", danger: true };
  const pressed = async ({ currentTarget }) => {
    await command(currentTarget, question, () => send("DELETE", `api/v1/jobs/${id}`), () => `Job ${id} is told to stop.`);
    lookAtJobs();
  };
  return commandButton({ class: "small danger", "data-key": `job-${id}`, onclick: pressed }, "Cancel");
}

/** Asks once and draws, while the list is unfolded. */
export async function lookAtJobs(signal) {
  if (!$("jobs").open) return;
  const all = await get("api/v1/jobs", signal);
  redraw(list.tBodies[0], all.map(line));
  show(list, all.length > 0);
  say($("jobs-note"), all.length ? "The last sixteen of this process; two run at a time." : "No job was started since the process began.");
}

/** Sets the list up. */
export function jobs() {
  const again = () => lookAtJobs().catch((error) => say($("jobs-note"), error.message));
  $("jobs").addEventListener("toggle", again);
}
