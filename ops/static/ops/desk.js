/** Every page for staff: follows the session and its rights, and leaves nothing on the screen once they are gone. */

import { reloadPatiently } from "../companion/backoff.js";
import { Line } from "../companion/socket.js";

const OUT_OF_REACH_AFTER_MS = 10_000;
/** Longer than a sign-out takes: a page that is asked for earlier may still be given. */
const SIGNED_OUT_AFTER_MS = 1_500;

/** Tells the other tabs of this browser at once. Nothing is stored. */
const tabs = new BroadcastChannel("companion-desk");
const main = document.querySelector("#main");
const outOfReach = main.querySelector("[data-out-of-reach]");
const line = new Line(document.querySelector("[data-desk]").dataset.desk, {
  frame: heard,
  up,
  down,
  signedOut: leave,
  notAllowed: leave,
});

let followed = { turns: [], changed() {} };
let unreachable = null;

/** Tell how these turns stand, now and whenever one changes: `changed({turn, stands, seq})`. */
export function follow(turns, changed) {
  followed = { turns, changed };
  line.send({ type: "follow", turns });
}

/** This page may be seen no more, or not like this: it is empty at once, and then what the service gives instead. */
export function leave() {
  blank();
  reloadPatiently();
}

function heard(frame) {
  if (frame.type === "rights") leave();
  if (frame.type === "turn") followed.changed(frame);
}

function up() {
  clearTimeout(unreachable);
  unreachable = null;
  conceal(false);
  if (followed.turns.length) line.send({ type: "follow", turns: followed.turns });
}

function down() {
  unreachable ??= setTimeout(() => conceal(true), OUT_OF_REACH_AFTER_MS);
}

/** What people have said is not shown while nothing can tell whether it may be. */
function conceal(isUnknown) {
  if (!main.querySelector("[data-turns]")) return;
  main.toggleAttribute("data-concealed", isUnknown);
  outOfReach.hidden = !isUnknown;
}

function blank() {
  line.close();
  document.body.replaceChildren();
  document.title = "Staff desk";
}

tabs.onmessage = () => {
  blank();
  setTimeout(reloadPatiently, SIGNED_OUT_AFTER_MS);
};
document.querySelector("[data-leave]").addEventListener("submit", () => tabs.postMessage("left"));
window.addEventListener("online", () => line.wake());
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && line.wake());
window.addEventListener("pagehide", (event) => (event.persisted ? blank() : line.close()));
// The browser shows a kept page again, which was kept empty.
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
// Only when the page's other scripts have found their places, because the first word may be that it must go.
document.addEventListener("DOMContentLoaded", () => line.open());
