/** The choices of a person's needs: each press is stored at once. On the person's own page it is seen at once as well. */

import { reloadPatiently } from "./backoff.js";
import { choose, putOn } from "./look.js";
import { request } from "./request.js";

const ANSWER_WITHIN_MS = 8_000;

const form = document.querySelector("[data-choices]");
const said = form.querySelector("[data-said]");
const undo = form.querySelector("[data-undo-button]");
/** Presses, and answers to presses, so far. */
let moves = 0;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, value } = event.submitter;
  const body = new URLSearchParams(new FormData(form));
  body.set(name, value);
  moves++;
  const answer = await request(form.action, { method: "POST", body, withinMs: ANSWER_WITHIN_MS });
  moves++;
  // The visit is over, or the page is in another language now.
  if (answer?.problem === "signed_out" || answer?.language) return window.location.reload();
  if (!answer?.look) return say(form.dataset.notChanged);
  if ("own" in form.dataset) choose(answer.look);
  markChosen(answer.chosen);
  say(answer.said);
  offerUndo(answer.undo);
  form.dispatchEvent(new CustomEvent("chosen", { detail: name }));
});

/** Begin to ask what is recorded; the function that is returned takes the answer, and shows what staff have changed. */
export function askRecorded() {
  const before = moves;
  return (answer) => {
    // A press since then is newer than this answer. The previous release answers without a look.
    if (moves !== before || !answer.look) return;
    // The words of the page are those of the language in which it was served.
    const shown = form.querySelector("[name=language][aria-pressed=true]")?.value ?? "";
    if (answer.chosen.language !== shown) return reloadPatiently();
    if (!markChosen(answer.chosen)) return;
    putOn(answer.look);
    say(answer.said);
    offerUndo(answer.undo);
    form.dispatchEvent(new CustomEvent("chosen", { detail: "recorded" }));
  };
}

/** Mark the option of each choice as pressed. Returns whether another one was pressed before. */
function markChosen(chosen) {
  let isNew = false;
  for (const button of form.querySelectorAll("button[aria-pressed]")) {
    const pressed = String(chosen[button.name] === button.value);
    isNew ||= button.ariaPressed !== pressed;
    button.ariaPressed = pressed;
  }
  return isNew;
}

/** A node of its own, so that the same words are announced again. */
function say(line) {
  const node = document.createElement("span");
  node.textContent = line;
  said.replaceChildren(node);
}

function offerUndo(offered) {
  // Hiding a focused button would lose the focus, so it moves to the words about the change.
  if (!offered && document.activeElement === undo) said.focus();
  undo.hidden = !offered;
}
