// The buttons for the crawl as a whole.

import { post } from "./api.js";
import { command } from "./ask.js";
import { $, complain, el, say, show } from "./dom.js";
import { bytes, count } from "./format.js";
import { commanding } from "./role.js";

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

function outcome(name, answer) {
  if (name === "resume" && answer.still) return `Your pause is over, but the crawl waits all the same: ${answer.still}.`;
  if (name !== "checkpoint") return { pause: "Paused.", resume: "Resumed.", stop: "The crawl is coming to its end." }[name];
  return `Checkpoint ${answer.name ?? ""} made${answer.bytes ? `, ${bytes(answer.bytes)}` : ""}.`;
}

/** Sets the buttons up; `changed` is called after a command. */
export function controls(changed) {
  for (const [name, question] of Object.entries(QUESTIONS)) {
    commanding($(name)).addEventListener("click", async ({ currentTarget }) => {
      await command(currentTarget, question, () => post(`api/v1/${name}`), (answer) => outcome(name, answer));
      changed();
    });
  }
  for (const button of document.querySelectorAll("[data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  for (const link of document.querySelectorAll("[data-unfolds]")) {
    link.addEventListener("click", () => unfold(link.dataset.unfolds));
  }
  seeds(changed);
}

/** Opens a part that is folded, and goes there. */
export function unfold(id) {
  const part = $(id);
  part.open = true;
  part.scrollIntoView({ block: "start" });
  part.querySelector("summary").focus({ preventScroll: true });
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
  commanding($("seeds")).addEventListener("click", () => {
    $("seeds-outcome").replaceChildren();
    dialog.showModal();
    $("seeds-text").focus();
  });
  commanding(dialog.querySelector("[type=submit]"));
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const box = $("seeds-outcome");
    say(box, "handing them in …");
    try {
      box.replaceChildren(...report(await post("api/v1/seeds", $("seeds-text").value)));
      changed();
    } catch (error) {
      complain(box, error);
    }
  });
}

function report({ accepted, known, rejected, guessed = [] }) {
  const sum = `${count(accepted)} taken, ${count(known)} known already, ${count(rejected.length)} turned away`;
  const lines = rejected.slice(0, 50).map((r) => el("li", {}, el("code", {}, r.url), `: ${r.reason}`));
  const bare = guessed.slice(0, 50).map((url) => el("li", {}, el("code", {}, url), ": it had no scheme; http is asked when https does not answer"));
  return [el("p", { class: accepted || known ? "good" : "bad" }, sum), el("ul", {}, ...bare, ...lines)];
}
