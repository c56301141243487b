// Counts by reason as bars. A line stays the same element while its numbers change: its button keeps the focus.

import { el, say, show } from "./dom.js";
import { count, words } from "./format.js";
import { commandButton } from "./role.js";

const SHOWN = 12;

/** A list of bars; `action`, if there is one, is {label, act(button, reason, n)}. */
export class Bars {
  constructor(list, none, action) {
    [this.list, this.action, this.lines] = [list, action, new Map()];
    this.none = el("li", { class: "empty" }, none);
    list.replaceChildren(this.none);
  }

  line(reason) {
    const known = this.lines.get(reason);
    if (known) return known;
    const parts = { n: 0, count: el("b"), fill: el("i"), example: el("span", { class: "example" }) };
    const name = el("span", {}, words(reason));
    if (this.action) name.append(" ", this.button(reason, parts));
    parts.item = el("li", {}, name, parts.count, el("div", { class: "bar" }, parts.fill), parts.example);
    this.lines.set(reason, parts);
    return parts;
  }

  button(reason, parts) {
    const { label, act } = this.action;
    const onclick = ({ currentTarget }) => act(currentTarget, reason, parts.n);
    return commandButton({ class: "link small", "aria-label": `${label} ${words(reason)}`, onclick }, label);
  }

  /** Shows counts, the greatest first, each with an example of `troubles`. */
  show(counts, troubles) {
    const sorted = Object.entries(counts).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]).slice(0, SHOWN);
    const most = sorted[0]?.[1] ?? 1;
    const items = sorted.map(([reason, n]) => {
      const parts = this.line(reason);
      parts.n = n;
      say(parts.count, count(n));
      parts.fill.style.transform = `scaleX(${n / most})`;
      const example = troubles[reason]?.example ?? "";
      say(parts.example, example);
      parts.example.title = example;
      show(parts.example, example !== "");
      return parts.item;
    });
    this.place(items.length ? items : [this.none]);
  }

  /** Moves elements only when their order is another one. */
  place(items) {
    const same = items.length === this.list.children.length && items.every((item, n) => item === this.list.children[n]);
    if (same) return;
    const focused = document.activeElement;
    this.list.replaceChildren(...items);
    if (this.list.contains(focused)) focused.focus();
  }
}
