// Asking the daemon. A token, when it wants one, is kept for this tab only.

import { $, say } from "./dom.js";

const KEY = "lycosa-token";
let asking = null;

/** The daemon answered, with a refusal. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** Asks, with the token if there is one, and asks the operator for it where it is wanted. */
export async function open(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
    const answer = await fetch(path, { cache: "no-store", redirect: "error", ...options, headers });
    if (answer.status === 401) {
      await askForToken(token !== null);
      continue;
    }
    if (!answer.ok) throw new Refused(answer.status, await reason(answer));
    return answer;
  }
}

export const get = async (path, signal) => (await open(path, { signal })).json();

export const post = async (path, body = "") =>
  (await open(path, { method: "POST", body, headers: { "Content-Type": "text/plain" } })).json();

/** A command with a JSON body. */
export const send = async (method, path, body) => {
  const headers = { "Content-Type": "application/json" };
  return (await open(path, { method, body: body === undefined ? "" : JSON.stringify(body), headers })).json();
};

/** Waits so many milliseconds. */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Forgets the token; the next question asks for another. */
export const forgetToken = () => sessionStorage.removeItem(KEY);

async function reason(answer) {
  const problem = await answer.json().catch(() => null);
  return problem?.detail ?? `status ${answer.status}`;
}

/** One dialog, however many requests wait for it. */
function askForToken(refused) {
  asking ??= new Promise((resolve) => {
    const dialog = $("token-dialog");
    const form = dialog.querySelector("form");
    say($("token-outcome"), refused ? "That token was refused." : "");
    sessionStorage.removeItem(KEY);
    dialog.oncancel = (event) => event.preventDefault();
    form.onsubmit = (event) => {
      event.preventDefault();
      const token = $("token").value.trim();
      if (!/^[\x21-\x7e]+$/.test(token)) return say($("token-outcome"), "A token is letters, digits and signs, without spaces.");
      sessionStorage.setItem(KEY, token);
      $("token").value = "";
      dialog.close();
      asking = null;
      resolve();
    };
    dialog.showModal();
    $("token").focus();
  });
  return asking;
}
