// A command: it asks first and says what will happen, does it, and says what came of it.

import { $, el, say, show } from "./dom.js";
import { ready } from "./role.js";

/** A short message that goes by itself. */
export function toast(text, bad = false) {
  const line = el("p", { class: bad ? "toast bad" : "toast" }, text);
  const box = $("toasts");
  box.append(line);
  // On top of a dialog that is open, too.
  if (box.matches(":popover-open")) box.hidePopover();
  box.showPopover();
  setTimeout(() => line.remove(), bad ? 12_000 : 6_000);
}

/** Resolves to whether the answer was yes. */
export function confirmed({ title, text, warning = "", yes, danger }) {
  const dialog = $("confirm");
  say($("confirm-title"), title);
  say($("confirm-text"), text);
  say($("confirm-warning"), warning);
  show($("confirm-warning"), warning !== "");
  say($("confirm-yes"), yes);
  $("confirm-yes").className = danger || warning ? "danger" : "main";
  return new Promise((resolve) => {
    const form = dialog.querySelector("form");
    let answer = false;
    form.onsubmit = (event) => {
      event.preventDefault();
      answer = true;
      dialog.close();
    };
    dialog.onclose = () => resolve(answer);
    dialog.showModal();
    $("confirm-yes").focus();
  });
}

/** Asks, does, tells the outcome. Gives the answer of the daemon, or nothing when it was not done. */
export async function command(button, question, act, told) {
  if (!(await confirmed(question))) return undefined;
  ready(button, false);
  button.setAttribute("aria-busy", "true");
  try {
    const answer = await act();
    toast(told(answer));
    return answer;
  } catch (error) {
    toast(`${question.yes}: ${error.message}`, true);
    return undefined;
  } finally {
    ready(button, true);
    button.removeAttribute("aria-busy");
    if (button.isConnected && !button.hidden) button.focus();
  }
}
