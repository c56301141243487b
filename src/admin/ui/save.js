// A report as a file. It is fetched, and not linked to, so that a token can go with it.

import { open } from "./api.js";
import { el, say } from "./dom.js";
import { count } from "./format.js";

/** Lines of a page of the daemon, and pages of a file: what the browser holds is bounded. */
const LINES = 1_000;
const PAGES = 100;

/** Every page of a report, the line of names once. */
async function parts(path, isPaged, told) {
  const found = [];
  let cursor = "";
  while (found.length < PAGES) {
    const answer = await open(isPaged ? `${path}&limit=${LINES}${cursor}` : path);
    const text = await answer.text();
    found.push(found.length ? text.slice(text.indexOf("\n") + 1) : text);
    const next = answer.headers.get("X-Next-Cursor");
    if (!next) return [found, true];
    told(found.length * LINES);
    cursor = `&cursor=${encodeURIComponent(next)}`;
  }
  return [found, false];
}

/** Fetches a whole report and hands it to the browser as a file. */
export async function saveCsv(button, path, isPaged, name, note) {
  button.disabled = true;
  try {
    const [found, whole] = await parts(path, isPaged, (n) => say(note, `fetching, ${count(n)} lines so far …`));
    const link = el("a", { href: URL.createObjectURL(new Blob(found, { type: "text/csv" })), download: `${name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    say(note, whole ? `${name}.csv is whole.` : `${name}.csv has the first ${count(PAGES * LINES)} lines; \`lycosa ctl report ${name}\` gives all.`);
  } finally {
    button.disabled = false;
    button.focus();
  }
}
