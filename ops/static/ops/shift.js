/** The shift page: accept, hand over, take on, resume; and says when something has changed. */

import "./ages.js";
import { press, say, showScripted } from "./acts.js";
import { join } from "./desk_socket.js";
import { textOf } from "./texts.js";

const changed = document.querySelector("[data-changed]");
const states = new Map();

function handle(frame) {
  if (frame.type === "hello") for (const flag of frame.flags) states.set(flag.id, stateOf(flag));
  if (frame.type === "flag" && states.get(frame.id) !== stateOf(frame)) {
    states.set(frame.id, stateOf(frame));
    changed.hidden = false;
  }
  if (frame.type === "pauses") changed.hidden = false;
}

function stateOf(flag) {
  return [flag.state, flag.owner, flag.handed_to, flag.count].join();
}

async function pressed(event) {
  const button = event.target.closest("button[data-accept], button[data-take-on], button[data-resume]");
  if (!button) return;
  const says = button.parentElement.querySelector("[data-act-says]");
  const flag = Number(button.closest("[data-flag]")?.dataset.flag);
  if ("accept" in button.dataset) await finish(button, { type: "accept", flag }, says, textOf("flag_yours"));
  else if ("takeOn" in button.dataset) await finish(button, { type: "take_on", flag, ...from(button) }, says, textOf("flag_yours_now"));
  else await finish(button, { type: "resume", scope: button.dataset.resume, id: Number(button.dataset.about) }, says, textOf("resumed"));
}

/** The owner who left without handing over, where this person takes a flag on from them. */
function from(button) {
  return button.dataset.from ? { from: Number(button.dataset.from) } : {};
}

async function finish(button, frame, says, text) {
  const { done } = await press(button, frame, says);
  if (!done) return;
  say(says, text);
  // A hidden button loses the focus, so that it moves to what became of the press.
  says.tabIndex = -1;
  says.focus({ preventScroll: true });
  button.hidden = true;
}

async function handedOver(event) {
  const form = event.target.closest("[data-hand]");
  if (!form) return;
  event.preventDefault();
  const says = form.parentElement.querySelector("[data-act-says]");
  const { name, value } = form.elements.to;
  const chosen = form.elements.to.selectedOptions[0].textContent;
  const flag = Number(form.closest("[data-flag]").dataset.flag);
  const { done } = await press(form.querySelector("button"), { type: "hand", flag, [name]: Number(value) }, says);
  if (done) say(says, textOf("handed", { name: chosen }));
}

showScripted(document.querySelector("#main"));
document.addEventListener("click", pressed);
document.addEventListener("submit", handedOver);
join({ frame: handle });
