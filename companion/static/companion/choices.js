/** The choices of a person's needs: each press is stored at once. On the person's own page it is seen at once as well. */

import { choose } from "./look.js";
import { request } from "./request.js";

const ANSWER_WITHIN_MS = 8_000;

const form = document.querySelector("[data-choices]");
const said = form.querySelector("[data-said]");
const undo = form.querySelector("[data-undo-button]");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, value } = event.submitter;
  const body = new URLSearchParams(new FormData(form));
  body.set(name, value);
  const answer = await request(form.action, { method: "POST", body, withinMs: ANSWER_WITHIN_MS });
  // The visit is over, or the page is in another language now.
  if (answer?.problem === "signed_out" || answer?.language) return window.location.reload();
  if (!answer?.look) return say(form.dataset.notChanged);
  if ("own" in form.dataset) choose(answer.look);
  for (const button of form.querySelectorAll("button[aria-pressed]")) {
    button.ariaPressed = String(answer.chosen[button.name] === button.value);
  }
  say(answer.said);
  offerUndo(answer.undo);
  form.dispatchEvent(new CustomEvent("chosen", { detail: name }));
});

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
