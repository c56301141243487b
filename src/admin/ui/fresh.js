// What part of the pages is likely to be as it was captured: a job reckons it, and its result is the report.

import { get, send } from "./api.js";
import { command } from "./ask.js";
import { moment } from "./format.js";
import { follow } from "./jobs.js";

/** The route. */
export const FRESH = "freshness";

const QUESTION = {
  title: "Reckon how fresh the pages are?",
  text: "A job goes through all captures once, beside the crawl: by what is known of each page's changes, how likely is it that it is as it was captured?",
  yes: "Reckon",
};

/** What the last such job of this process found. */
export async function freshness() {
  const jobs = await get("api/v1/jobs");
  const [job] = jobs.filter(({ kind, state }) => kind === FRESH && state === "done").sort((a, b) => b.id - a.id);
  if (!job) return { items: [], about: "Not reckoned since the process began: “Reckon” does it." };
  return { items: job.result.lines, about: `As of ${moment(job.ended)}, by what is known of their changes.` };
}

/** Has it reckoned, when that is meant; true once it is. */
export async function reckon(button, box) {
  const job = await command(button, QUESTION, () => send("POST", `api/v1/reports/${FRESH}`), ({ id }) => `Job ${id} reckons it.`);
  return job !== undefined && (await follow(job, box))?.state === "done";
}
