// The rules that may change while the crawl runs, and their history.

import { get, post, send } from "./api.js";
import { command, toast } from "./ask.js";
import { $, choice, say, show } from "./dom.js";
import { count, when } from "./format.js";
import { commandButton } from "./role.js";
import { change, changing } from "./rule.js";
import { redraw, row, table } from "./table.js";
import { verdict } from "./trial.js";
import { shortly } from "./values.js";

const COLUMNS = [["setting", "host"], ["in force", "value"], ["built in", "value"], ["set by", ""], ["", ""]];
const HISTORY = [["rules", "number"], ["when", ""], ["by", ""], ["what", "value wide"], ["", ""]];
const SHOWN = [["all", "all"], ["set", "those that were set"]];

const list = table(COLUMNS);
const past = table(HISTORY);
let shown = "all";
let settings = [];

const failed = (error) => say($("rules-note"), error.message);
const again = () => look().catch(failed);

function line(setting) {
  const { key, value, default: built, origin } = setting;
  const button = commandButton({ class: "small", "data-key": key, "aria-label": `Change ${key}`, onclick: () => change(setting, again) }, "Change");
  return row(COLUMNS, [key, shortly(value), shortly(built), origin, button]);
}

function draw() {
  const wanted = settings.filter(({ origin }) => shown === "all" || origin !== "default");
  redraw(list.tBodies[0], wanted.map(line));
}

const difference = ({ key, before, after }) => {
  const said = (value) => (value === null ? "as the file says" : shortly(value));
  return `${key}: ${said(before)} → ${said(after)}`;
};

/** What taking a change back would do is tried first, as any change is. */
async function takeBack(button, { generation, changed }) {
  const back = changed.map(({ key, before, after }) => difference({ key, before: after, after: before })).join("; ");
  const values = Object.fromEntries(changed.map(({ key, before }) => [key, before]));
  const { lines, warning, force } = verdict(await send("PATCH", "api/v1/settings?dry_run=true", values));
  const text = `${back}. That is a change too. ${lines[0]} URLs that were turned away meanwhile stay so, unless they are readmitted.`;
  const question = { title: `Take back rules number ${generation}?`, text, warning, yes: "Take it back" };
  const path = `api/v1/settings/undo${force ? "?force=true" : ""}`;
  await command(button, question, () => post(path), ({ change: made }) => `Taken back; rules number ${made.generation} are in force.`);
  again();
}

function undoing(last) {
  const pressed = ({ currentTarget }) => takeBack(currentTarget, last).catch((error) => toast(`Take back: ${error.message}`, true));
  return commandButton({ class: "small", "data-key": "undo", onclick: pressed }, "Take back");
}

function drawHistory(changes) {
  const last = changes.find(({ by, undoes, undone }) => by === "admin" && undoes === null && !undone);
  const lines = changes.map((one) => {
    const { generation, at, by, undoes, undone, changed } = one;
    const more = [changed.map(difference).join("; "), undoes !== null ? `takes ${undoes} back` : "", undone ? "was taken back" : ""];
    return row(HISTORY, [count(generation), when(at), by, more.filter(Boolean).join("; "), one === last ? undoing(one) : ""]);
  });
  redraw(past.tBodies[0], lines);
  show(past, changes.length > 0);
  say($("history-note"), changes.length ? "" : "Nothing was changed while the crawl ran.");
}

async function look() {
  if (!$("rules").open) return;
  const [now, changes] = await Promise.all([get("api/v1/settings"), get("api/v1/settings/history")]);
  settings = now.settings.filter(({ changeable }) => changeable);
  say($("rules-note"), `Rules number ${now.generation} are in force. These settings can be changed while the crawl runs; all others need a restart.`);
  draw();
  drawHistory(changes);
}

/** Sets the panel up. */
export function rules() {
  $("rules-list").append(list);
  $("history-list").append(past);
  $("rules").addEventListener("toggle", again);
  choice($("rules-shown"), SHOWN, shown, (key) => {
    shown = key;
    draw();
  });
  changing();
}
