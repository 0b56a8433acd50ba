/** Buttons and forms that act: they say what became of it beside them, and claim nothing before the answer. */

import { act } from "./desk_socket.js";

/** Do `frame` for a press of `button`; the answer stands in `says`. Resolves to the outcome. */
export async function press(button, frame, says) {
  if (button.ariaDisabled === "true") return { done: false, text: "" };
  button.ariaDisabled = "true";
  say(says, "");
  const outcome = await act(frame);
  button.ariaDisabled = null;
  say(says, outcome.done ? "" : outcome.text);
  return outcome;
}

/** Write a text for readers of the screen and of a status region. */
export function say(place, text) {
  if (place && place.textContent !== text) place.textContent = text;
}

/** Show what only works with scripts, and take away the word that scripts are missing. */
export function showScripted(root = document) {
  for (const place of root.querySelectorAll("[data-no-script]")) place.remove();
  for (const place of root.querySelectorAll("[data-scripted]")) place.hidden = false;
}
