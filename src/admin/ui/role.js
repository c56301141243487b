// Who looks: a token may admit to looking alone. Then whatever changes something is switched off, and the page says why.

import { $, button, show } from "./dom.js";

const WHY = "This token is for looking; commands need that of admin.token_file.";

let full = true;

function lock(button) {
  button.disabled = !full || button.dataset.ready === "no";
  if (full) button.removeAttribute("title");
  else button.title = WHY;
}

/** Marks what commands: it is switched off while one may only look. */
export function commanding(button) {
  button.dataset.command = "";
  lock(button);
  return button;
}

/** A button that commands. */
export const commandButton = (attributes, label) => commanding(button(attributes, label));

/** Switches something that commands on or off for a reason of its own. */
export function ready(button, isReady) {
  button.dataset.ready = isReady ? "yes" : "no";
  lock(button);
}

/** Takes up what the daemon says one may do. */
export function takeRole(role) {
  full = role !== "read";
  if (document.body.dataset.role === role) return;
  document.body.dataset.role = role;
  document.querySelectorAll("[data-command]").forEach(lock);
  show($("read-only"), !full);
}
