// URLs that were given up are tried again, by the reason.

import { send } from "./api.js";
import { command, toast } from "./ask.js";
import { count, words } from "./format.js";
import { follow, lookAtJobs, progress } from "./jobs.js";

/** Asks, starts the job, and tells when it has ended. */
export async function retry(button, reason, n) {
  const urls = n === 1 ? "URL" : "URLs";
  const question = {
    title: `Try ${count(n)} ${urls} again?`,
    text: `${count(n)} ${urls} given up for “${words(reason)}” go back into the queue as if they were new, with all their tries before them. A job goes through them.`,
    yes: "Try again",
  };
  const job = await command(button, question, () => send("POST", "api/v1/urls/retry", { reason }), (j) => `Job ${j.id} queues them again.`);
  if (!job) return;
  lookAtJobs().catch(() => {});
  const ended = await follow(job);
  if (ended) toast(progress(ended), ended.state === "failed");
}
