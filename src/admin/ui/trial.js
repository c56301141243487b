// What a change of the rules would do to the URLs there are, in plain words.

import { el } from "./dom.js";
import { count, words } from "./format.js";

const sum = (changing) => Object.values(changing).reduce((a, b) => a + b, 0);
const share = (n, of) => `${n === of ? 100 : Math.min(99, Math.round((100 * n) / of))} %`;
const reasons = (changing) => Object.entries(changing).map(([reason, n]) => `${words(reason)} ${count(n)}`).join(", ");

function sentence({ of, looked, changing }, urls, would) {
  const n = sum(changing);
  const looked_at = looked < of ? `${count(looked)} looked at, of ${count(of)} ${urls}` : `${count(of)} ${urls}`;
  if (!of) return `There are no ${urls}.`;
  if (!n) return `None of the ${looked_at} would be ${would}.`;
  return `${count(n)} of the ${looked_at}, would be ${would} (${share(n, looked)}): ${reasons(changing)}.`;
}

/** {lines, warning, readmits}: what to know before a change is made. The warning is empty when there is nothing to fear. */
export function verdict({ queued, rejected }) {
  const n = sum(queued.changing);
  const most = queued.looked > 0 && n * 2 > queued.looked;
  const all = n === queued.looked ? "all" : "most";
  const warning = most ? `This would turn away ${all} of the queue: ${count(n)} of the ${count(queued.looked)} URLs looked at. They do not come back by themselves.` : "";
  const lines = [sentence(queued, "queued URLs", "turned away when their turn comes"), sentence(rejected, "rejected URLs", "readmitted, if you ask for that")];
  return { lines, warning, readmits: sum(rejected.changing) };
}

/** The same as elements, with examples. */
export function told(trial) {
  const { lines, warning } = verdict(trial);
  const example = ({ url, reason, rule }) => el("li", {}, el("code", {}, url), ` ${words(reason)}: ${rule}`);
  const examples = [...trial.queued.examples, ...trial.rejected.examples].map(example);
  const folded = examples.length ? el("details", {}, el("summary", {}, "Examples"), el("ul", {}, ...examples)) : null;
  const parts = [warning && el("p", { class: "bad strong" }, warning), ...lines.map((line) => el("p", {}, line)), folded];
  return parts.filter(Boolean);
}
