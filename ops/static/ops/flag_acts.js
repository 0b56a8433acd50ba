/** What can be done about a flag within a conversation: accept, take on, note, close. */

import { press, say } from "./acts.js";
import { textOf } from "./texts.js";

/** Show what this person can do about a flag: accept an open one, take on one handed to them, note and close their own. */
export function showFlagActs(node, flag, me) {
  const isMine = flag.state === "accepted" && flag.owner === me;
  const hadFocus = node.contains(document.activeElement);
  node.querySelector("[data-accept]").hidden = flag.state !== "open";
  node.querySelector("[data-take-on]").hidden = isMine || flag.handed_to !== me || flag.state === "closed";
  node.querySelector("[data-flag-form]").hidden = !isMine;
  // The focus stays at the flag when its button goes.
  if (hadFocus && !node.contains(document.activeElement)) node.focus({ preventScroll: true });
}

/** Handle every press on a flag below `list`. `refresh(flag)` reads a flag anew: a note changes nothing that frames carry. */
export function flagActs(list, refresh) {
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-accept], [data-take-on]");
    if (!button) return;
    press(button, { type: "accept" in button.dataset ? "accept" : "take_on", flag: idOf(button) }, saysOf(button));
  });
  list.addEventListener("submit", (event) => submitted(event, refresh));
}

async function submitted(event, refresh) {
  const form = event.target.closest("[data-flag-form]");
  if (!form) return;
  event.preventDefault();
  const says = saysOf(form);
  const text = form.elements.note.value.trim();
  const closes = event.submitter.value === "close";
  const frame = closes ? { type: "close", outcome: form.elements.outcome.value, note: text } : { type: "note", text };
  const { done } = await press(event.submitter, { ...frame, flag: idOf(form) }, says);
  if (!done) return;
  form.reset();
  refresh(idOf(form));
  say(says, textOf(closes ? "flag_closed" : "note_kept"));
}

function idOf(node) {
  return Number(node.closest("[data-item]").dataset.id);
}

function saysOf(node) {
  return node.closest("[data-scripted]").querySelector("[data-act-says]");
}
