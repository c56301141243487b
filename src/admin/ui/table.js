// Tables that a phone shows as a stack: each value with its heading beside it.

import { el } from "./dom.js";

/** A heading, and the class of its column. */
export const heading = ([title, kind]) => el("th", { scope: "col", role: "columnheader", class: kind }, title);

/** A row of cells: text or elements; `columns` are headings with classes. */
export function row(columns, cells) {
  const cell = (content, n) => {
    const [title, kind] = columns[n];
    return el("td", { role: "cell", class: kind, "data-label": title }, content ?? "");
  };
  return el("tr", { role: "row" }, ...cells.map(cell));
}

/** Replaces what a box holds; the button that had the focus (told by its `data-key`) has it again. */
export function redraw(box, children) {
  const key = box.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  box.replaceChildren(...children);
  if (key !== undefined) [...box.querySelectorAll("[data-key]")].find((b) => b.dataset.key === key)?.focus();
}

/** A table with its head; give it rows with `redraw(table.tBodies[0], …)`. */
export function table(columns) {
  const head = el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...columns.map(heading)));
  return el("table", { role: "table", class: "stacking" }, head, el("tbody", { role: "rowgroup" }));
}
