// What happens, as it happens: a stream of events, read with fetch so that a token can go with it.

import { Refused, open, pause } from "./api.js";
import { $, button, choice, el } from "./dom.js";
import { bytes, clock, span, words } from "./format.js";

const SHOWN = 14;
const KINDS = [["", "all"], ["page", "pages"], ["error,retry", "errors"], ["rejected", "turned away"], ["blocked,restart,state", "node"]];
const CLASSES = { error: "bad", retry: "warn", blocked: "bad", restart: "bad", page: "good", rejected: "quiet", state: "" };

/** The frames of a stream of server-sent events: {event, data}. */
async function* frames(body) {
  let rest = "";
  for await (const chunk of chunks(body.pipeThrough(new TextDecoderStream()).getReader())) {
    const parts = (rest + chunk).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const field = (name) => part.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      if (field("data")) yield { event: field("event"), data: JSON.parse(field("data")) };
    }
  }
}

async function* chunks(reader) {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

function more(news) {
  const parts = [];
  if (news.status) parts.push(news.status);
  if (news.bytes !== undefined && news.kind === "page") parts.push(bytes(news.bytes));
  if (news.ms !== undefined) parts.push(span(news.ms / 1000));
  return parts.join(" · ");
}

function line(news, explain) {
  const label = news.kind === "page" ? news.reason : news.kind;
  const detail = news.kind === "page" ? more(news) : [words(news.reason), more(news)].filter(Boolean).join(" · ");
  const subject = news.url
    ? button({ class: "url", title: [news.title, news.url].filter(Boolean).join("\n"), onclick: () => explain(news.url) }, news.url)
    : el("span", { class: "url", title: news.text ?? "" }, [news.host, news.text].filter(Boolean).join(": "));
  return el("li", {}, el("span", { class: "at quiet" }, clock(news.ts_ms)),
    el("span", { class: `what ${CLASSES[news.kind] ?? ""}` }, words(label)), subject, el("span", { class: "more" }, detail));
}

/** Shows events while the page is seen; `explain` is called with a URL that is chosen, `changed` when the node's state is news. */
export function recent(explain, changed) {
  const list = $("recent");
  let kinds = "";
  let stream = null;
  let held = false;
  let waiting = [];
  list.addEventListener("pointerenter", () => (held = true));
  list.addEventListener("pointerleave", () => (held = false));
  list.addEventListener("focusin", () => (held = true));
  list.addEventListener("focusout", () => (held = false));

  // A busy crawl tells hundreds a second: they are drawn together, the newest of them, four times a second. While
  // somebody points at a line, or has come to it by keyboard, the list holds still.
  const draw = () => {
    if (held || !waiting.length || document.hidden) return;
    const fresh = waiting.splice(0).slice(-SHOWN).reverse();
    list.querySelector(".empty")?.remove();
    list.prepend(...fresh);
    while (list.children.length > SHOWN) list.lastChild.remove();
  };
  setInterval(draw, 250);

  const nothing = (why = "nothing yet") => {
    waiting = [];
    list.replaceChildren(el("li", { class: "empty" }, why));
  };

  const listen = async (ending) => {
    const path = kinds ? `api/v1/events?kind=${encodeURIComponent(kinds)}` : "api/v1/events";
    const answer = await open(path, { signal: ending });
    for await (const { event, data } of frames(answer.body)) {
      if (event === "missed") waiting.push(el("li", { class: "empty" }, `${data.missed} events went by`));
      else waiting.push(line(data, explain));
      if (waiting.length > 4 * SHOWN) waiting.splice(0, waiting.length - SHOWN);
      if (data.kind === "state") changed();
    }
  };

  const start = async () => {
    stream?.abort();
    stream = new AbortController();
    const { signal } = stream;
    while (!signal.aborted) {
      try {
        await listen(signal);
      } catch (error) {
        // The banner tells that the daemon is gone; here it is only tried again.
        if (error instanceof Refused) nothing(error.message);
      }
      await pause(2_000);
    }
  };

  choice($("kinds"), KINDS, kinds, (key) => {
    kinds = key;
    nothing();
    start();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stream?.abort();
    else start();
  });
  nothing();
  start();
}
