// Why a URL was crawled, or not: the sentence first, what it rests on below.

import { get } from "./api.js";
import { $, button, complain, el, show } from "./dom.js";
import { facts, folded } from "./facts.js";
import { words } from "./format.js";

function answer(e) {
  const state = { done: "good", error: "bad", rejected: "warn" }[e.state] ?? "";
  const short = [["state", el("b", { class: state }, words(e.state))], ...e.facts.map((fact) => [fact.name, fact.text])];
  const rows = short.flatMap(([name, what]) => [el("dt", {}, name), el("dd", {}, what)]);
  return [
    el("p", { class: "sentence" }, e.answer),
    el("dl", {}, ...rows),
    folded("Its place in the queue", e.queue),
    folded("What its rank is made of", e.ranking),
    folded("Its host", e.host),
    folded("Attempts", e.attempts),
    folded("What was stored", e.page),
    folded("Its robots.txt", e.robots),
    folded("Canonical form", e.canonical),
  ];
}

/** Explains a URL in its box. */
async function explain(url) {
  const box = $("explained");
  $("url").value = url;
  show(box, true);
  box.replaceChildren(el("p", { class: "quiet" }, "looking …"));
  box.setAttribute("aria-busy", "true");
  try {
    const told = await get(`api/v1/explain?url=${encodeURIComponent(url)}`);
    box.replaceChildren(...answer(told).filter(Boolean), closing(box));
  } catch (error) {
    complain(box, error, closing(box));
  }
  box.removeAttribute("aria-busy");
}

/** Explains a URL that was chosen elsewhere on the page, and goes there. */
export function lookUp(url) {
  explain(url);
  $("explain").scrollIntoView({ block: "nearest" });
}

function closing(box) {
  const close = () => {
    show(box, false);
    $("url").focus();
  };
  return el("div", { class: "buttons" }, button({ onclick: close }, "Close"));
}

/** The search box. */
export function searching() {
  $("explain").addEventListener("submit", (event) => {
    event.preventDefault();
    const url = $("url").value.trim();
    if (url) explain(url);
  });
}

/** What blocks, and what to do, in a box. */
export async function whyIdle(box) {
  const { answer: line, findings } = await get("api/v1/why-idle");
  const items = findings.map((f) => el("li", {}, el("b", {}, f.sentence), f.advice ? ` ${f.advice}` : ""));
  box.replaceChildren(findings.length ? el("ul", {}, ...items) : facts({ line }));
}
