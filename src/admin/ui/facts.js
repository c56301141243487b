// Any answer of the daemon as a list of names and values, nested where it is nested.

import { el } from "./dom.js";
import { bytes, count, moment, span, words } from "./format.js";

function value(name, v) {
  if (v === null || v === undefined) return "–";
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (typeof v === "number") {
    if (name.endsWith("_at_ms") || name.endsWith("until_ms") || /^(captured|fetched|retry|due|discovered|at)_ms$/.test(name)) return moment(v);
    if (name.endsWith("_ms")) return v > 1e12 ? moment(v) : span(v / 1000);
    if (name.endsWith("seconds")) return span(v);
    if (name === "bytes" || name.endsWith("_bytes")) return `${bytes(v)} (${v.toLocaleString("en")} bytes)`;
    return Number.isInteger(v) ? (name === "port" || name === "status" ? String(v) : count(v)) : v.toFixed(3);
  }
  return String(v);
}

const label = (name) => words(name.replace(/_(ms|seconds)$/, ""));

/** What holds nothing is left out. */
const isEmpty = (v) => v === null || v === undefined || v === "" || (Array.isArray(v) && !v.length);

/** A `dl` of an object. */
export function facts(object) {
  const rows = Object.entries(object).filter(([, v]) => !isEmpty(v)).flatMap(([name, v]) => [el("dt", {}, label(name)), el("dd", {}, shown(name, v))]);
  return el("dl", {}, ...rows);
}

function shown(name, v) {
  if (Array.isArray(v)) return el("ul", {}, ...v.map((one) => el("li", {}, shown(name, one))));
  return typeof v === "object" && v !== null ? facts(v) : value(name, v);
}

/** A part that is unfolded by who wants it; nothing when there is nothing in it. */
export function folded(title, object) {
  if (isEmpty(object)) return null;
  return el("details", {}, el("summary", {}, title), Array.isArray(object) ? shown("", object) : facts(object));
}
