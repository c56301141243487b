// Dead links with all pages that hold them: a job finds them in the archive, and what it found stays to be read.

import { send } from "./api.js";
import { command } from "./ask.js";
import { tell } from "./dom.js";
import { count, moment } from "./format.js";
import { follow } from "./jobs.js";

/** The route of the report. */
export const HOLDERS = "dead-links/holders";

const QUESTION = {
  title: "Find all pages with dead links?",
  text: "A job reads the archive once, beside the crawl, and notes every page that holds a link to a URL that was given up. The report made before is replaced.",
  yes: "Find them",
};

/** How the report was made, and what is not in it. */
export function about(made, box) {
  const told = (text) => tell(box, "quiet small", text);
  if (!made) return told("There is no such report yet. “Find all pages” makes it.");
  const of = made.host ? ` of ${made.host}` : "";
  const lines = [`As of ${moment(made.made)}${of}: ${count(made.dead)} dead URLs, ${count(made.records)} pages read.`];
  if (made.dead_cut || made.listed_cut) lines.push("There is more than the report holds.");
  if (made.not_read_total) lines.push(`${count(made.not_read_total)} archive files could not be read: ${made.not_read.join(", ")}.`);
  return told(lines.join(" "));
}

/** Has the report made, when that is meant; true once it is. */
export async function find(button, box) {
  const job = await command(button, QUESTION, () => send("POST", `api/v1/reports/${HOLDERS}`, {}), ({ id }) => `Job ${id} looks for them.`);
  return job !== undefined && (await follow(job, box))?.state === "done";
}
