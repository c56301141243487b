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

const whole = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/**
 * What to know before a change is made: {lines, warning, readmits, force}. The warning is empty when there is nothing to fear;
 * what the daemon itself warns of is made only when it is told that it is meant: `force`.
 */
export function verdict({ queued, rejected, warnings = [] }) {
  const n = sum(queued.changing);
  const most = queued.looked > 0 && n * 2 > queued.looked;
  const all = n === queued.looked ? "all" : "most";
  const own = most ? `This would turn away ${all} of the queue: ${count(n)} of the ${count(queued.looked)} URLs looked at. They do not come back by themselves.` : "";
  const lines = [sentence(queued, "queued URLs", "turned away when their turn comes"), sentence(rejected, "rejected URLs", "readmitted, if you ask for that")];
  const warning = warnings.length ? warnings.map(whole).join(" ") : own;
  return { lines, warning, readmits: sum(rejected.changing), force: warnings.length > 0 };
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
