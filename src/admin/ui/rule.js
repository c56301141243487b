// One setting is changed: first it is tried on a sample of the URLs, then made.

import { send } from "./api.js";
import { command } from "./ask.js";
import { $, complain, el, say, show } from "./dom.js";
import { follow } from "./jobs.js";
import { commanding, ready } from "./role.js";
import { told, verdict } from "./trial.js";
import { expected, inWords, isList, typed, valueOf } from "./values.js";

let setting = null;
let changed = () => {};
/** The value that was tried, as text, and what that told. */
let tried = null;

/** A list has room for its lines, everything else one line. */
function field() {
  return isList(setting) ? $("rule-list") : $("rule-value");
}

/** A value that was not tried cannot be made. */
function touched() {
  tried = null;
  ready($("rule-apply"), false);
  $("rule-trial").replaceChildren(el("p", { class: "quiet" }, "Try it first: nothing is changed by that."));
  show($("rule-readmit-line"), false);
}

const refused = (error) => complain($("rule-trial"), error);

async function attempt(value) {
  const box = $("rule-trial");
  say(box, "trying it on a sample of the queue …");
  ready($("rule-apply"), false);
  try {
    const key = setting.key;
    const trial = await send("PATCH", "api/v1/settings?dry_run=true", { [key]: value });
    if (setting.key !== key) return;
    tried = { value, trial };
    box.replaceChildren(...told(trial));
    show($("rule-readmit-line"), verdict(trial).readmits > 0);
    $("rule-readmit").checked = false;
    ready($("rule-apply"), true);
  } catch (error) {
    refused(error);
  }
}

const named = (value) => (value === null ? "what file, environment and flags say" : value === "" ? "the built-in default" : inWords(value));

async function apply() {
  const { value, trial } = tried;
  const { lines, warning, readmits, force } = verdict(trial);
  const readmit = $("rule-readmit").checked && readmits > 0;
  const job = readmit ? " A job judges the rejected URLs again and queues those that are admitted now." : "";
  const question = { title: `Change ${setting.key}?`, text: `From ${inWords(setting.value)} to ${named(value)}, at once and also after a restart. ${lines[0]}${job}`, warning, yes: "Change it" };
  const path = `api/v1/settings?${new URLSearchParams({ ...(readmit && { readmit }), ...(force && { force }) })}`;
  const say_it = ({ change }) => (change.changed.length ? `${setting.key} is changed; rules number ${change.generation} are in force.` : "It was so before; nothing is changed.");
  const answer = await command($("rule-apply"), question, () => send("PATCH", path, { [setting.key]: value }), say_it);
  if (!answer) return;
  touched();
  const line = el("p", { class: "outcome good" }, say_it(answer));
  $("rule-trial").replaceChildren(line, answer.note ? el("p", { class: "warn" }, answer.note) : "");
  changed();
  if (!answer.job) return;
  const box = el("p", {});
  $("rule-trial").append(box);
  follow(answer.job, box);
}

/** Opens the dialog of a setting; `after` is called when it was changed. */
export function change(one, after) {
  [setting, changed] = [one, after];
  say($("rule-title"), one.key);
  say($("rule-now"), `In force: ${inWords(one.value)}. Built in: ${inWords(one.default)}. Set by: ${one.origin}.`);
  say($("rule-help"), expected(one));
  show($("rule-list"), isList(one));
  show($("rule-value"), !isList(one));
  $("rule-label").htmlFor = field().id;
  field().value = typed(one);
  show($("rule-back"), one.origin === "admin");
  touched();
  $("rule-dialog").showModal();
  field().focus();
}

/** Sets the dialog up. */
export function changing() {
  const attempted = (event) => {
    event.preventDefault();
    try {
      attempt(valueOf(setting, field().value));
    } catch (error) {
      refused(error);
    }
  };
  $("rule-dialog").querySelector("form").addEventListener("submit", attempted);
  for (const id of ["rule-value", "rule-list"]) $(id).addEventListener("input", touched);
  commanding($("rule-try"));
  commanding($("rule-back")).addEventListener("click", () => attempt(null));
  commanding($("rule-apply")).addEventListener("click", apply);
}
