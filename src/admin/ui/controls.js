// The buttons: each asks first, does, and says what came of it.

import { post } from "./api.js";
import { $, el, say, show } from "./dom.js";
import { bytes, count } from "./format.js";

const QUESTIONS = {
  pause: {
    title: "Pause the crawl?",
    text: "Nothing new is requested until you resume. What is in flight is finished and stored.",
    yes: "Pause",
  },
  resume: { title: "Resume the crawl?", text: "Requests go out again, each host in its own time.", yes: "Resume" },
  checkpoint: {
    title: "Make a checkpoint?",
    text: "A whole state of the crawl is written, to which it can be taken back. The crawl goes on.",
    yes: "Make it",
  },
  stop: {
    title: "Stop the crawl?",
    text: "What is in flight is finished and stored, then the process ends. It is started again from the command line, not from here.",
    yes: "Stop",
    danger: true,
  },
};

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
function confirmed({ title, text, yes, danger }) {
  const dialog = $("confirm");
  say($("confirm-title"), title);
  say($("confirm-text"), text);
  say($("confirm-yes"), yes);
  $("confirm-yes").className = danger ? "danger" : "main";
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

function outcome(command, answer) {
  if (command !== "checkpoint") return { pause: "Paused.", resume: "Resumed.", stop: "The crawl is coming to its end." }[command];
  return `Checkpoint ${answer.name ?? ""} made${answer.bytes ? `, ${bytes(answer.bytes)}` : ""}.`;
}

/** Asks, sends a command, tells its outcome. Gives true when it was done. */
export async function command(button, question, path, told) {
  if (!(await confirmed(question))) return false;
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    toast(told(await post(path)));
    return true;
  } catch (error) {
    toast(`${question.yes}: ${error.message}`, true);
    return false;
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
    if (!button.hidden) button.focus();
  }
}

/** Sets the buttons up; `changed` is called after a command. */
export function controls(changed) {
  for (const [name, question] of Object.entries(QUESTIONS)) {
    $(name).addEventListener("click", async ({ currentTarget }) => {
      await command(currentTarget, question, `api/v1/${name}`, (answer) => outcome(name, answer));
      changed();
    });
  }
  for (const button of document.querySelectorAll("[data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  seeds(changed);
}

/** Which of pause and resume makes sense. */
export function showControls(state) {
  const had = document.activeElement;
  show($("pause"), state !== "paused");
  show($("resume"), state === "paused");
  if (had === $("pause") && $("pause").hidden) $("resume").focus();
  if (had === $("resume") && $("resume").hidden) $("pause").focus();
}

function seeds(changed) {
  const dialog = $("seeds-dialog");
  $("seeds").addEventListener("click", () => {
    $("seeds-outcome").replaceChildren();
    dialog.showModal();
    $("seeds-text").focus();
  });
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const box = $("seeds-outcome");
    say(box, "handing them in …");
    try {
      box.replaceChildren(...report(await post("api/v1/seeds", $("seeds-text").value)));
      changed();
    } catch (error) {
      box.replaceChildren(el("p", { class: "bad" }, error.message));
    }
  });
}

function report({ accepted, known, rejected }) {
  const sum = `${count(accepted)} taken, ${count(known)} known already, ${count(rejected.length)} turned away`;
  const lines = rejected.slice(0, 50).map((r) => el("li", {}, el("code", {}, r.url), `: ${r.reason}`));
  return [el("p", { class: accepted || known ? "good" : "bad" }, sum), el("ul", {}, ...lines)];
}
