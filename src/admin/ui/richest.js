// The richest pages by link credit: every account is looked at, 100,000 an answer, and what is richest so far is shown meanwhile.

import { get } from "./api.js";
import { count } from "./format.js";

/** The route. */
export const CREDIT = "credit";

/** Pages shown. */
const SHOWN = 20;
/** Answers that are asked for, at most. */
const LOOKS = 100;

/** A part of a whole, with what can be seen of small ones. */
export const percent = (part) => (part > 0 && part < 0.0001 ? "< 0.01 %" : `${(part * 100).toFixed(2)} %`);

/** Who holds what, in a line. */
function held({ issued, accounts, purses, unpaid, lambda, notes }) {
  const rest = [["pages", accounts], ["what is still to be shared", purses + unpaid], ["lambda", lambda], ["on its way", notes]];
  const parts = rest.filter(([, n]) => n > 0).map(([name, n]) => `${name} ${percent(n / issued)}`);
  return `Seeds brought ${count(issued)}: ${parts.join(", ")}.`;
}

function told({ sums, next }, looked, last) {
  const far = `${count(looked)} pages looked at`;
  if (!next) return `${held(sums)} ${far}.`;
  return `${held(sums)} ${last ? `The first ${far}; those of one host are found with its name.` : `${far} so far …`}`;
}

/** The richest pages of a host, or of all; `shown` gets each part, and says whether more is wanted. */
export async function richest(host, shown) {
  const of = host ? `host=${encodeURIComponent(host)}&` : "";
  let [items, looked, cursor] = [[], 0, ""];
  for (let nth = 1; ; nth += 1) {
    const answer = await get(`api/v1/${CREDIT}?${of}${cursor}`);
    if (!answer.sums) return { items: [], about: "Link credit is off (frontier.credit)." };
    items = [...items, ...answer.richest].sort((a, b) => b.credit - a.credit).slice(0, SHOWN);
    looked += answer.looked_at;
    const last = !answer.next || nth === LOOKS;
    const part = { items, about: told(answer, looked, last) };
    if (last || !shown(part)) return part;
    cursor = `cursor=${encodeURIComponent(answer.next)}`;
  }
}
