/** Every page for staff: follows the session and its rights, and empties the page once they are gone. */

import { reloadPatiently } from "../companion/backoff.js";
import { Connection } from "../companion/socket.js";
import { textOf } from "./texts.js";

const OUT_OF_REACH_AFTER_MS = 10_000;
/** Longer than a sign-out takes: an earlier reload may still be answered with the page. */
const SIGNED_OUT_AFTER_MS = 1_500;

/** Tells the other tabs of this browser at once. Nothing is stored. */
const tabs = new BroadcastChannel("companion-staff");
const main = document.querySelector("#main");
const outOfReach = main.querySelector("[data-out-of-reach]");
const connection = new Connection(document.querySelector("[data-staff]").dataset.staff, {
  frame: handleFrame,
  up,
  down,
  signedOut: leave,
  notAllowed: leave,
});

let followed = { turns: [], changed() {} };
let unreachable = null;
/** Where the reader was when the page was concealed: { top, focus }. */
let left = null;

/** Follow these turns: calls `changed({turn, stands, seq})` now and whenever one changes. */
export function follow(turns, changed) {
  followed = { turns, changed };
  connection.send({ type: "follow", turns });
}

/** Access has ended or changed: empty the page at once, then load what the service gives instead. */
export function leave() {
  blank();
  reloadPatiently();
}

function handleFrame(frame) {
  if (frame.type === "rights") leave();
  if (frame.type === "turn") followed.changed(frame);
}

function up() {
  clearTimeout(unreachable);
  unreachable = null;
  conceal(false);
  if (followed.turns.length) connection.send({ type: "follow", turns: followed.turns });
}

function down() {
  unreachable ??= setTimeout(() => conceal(true), OUT_OF_REACH_AFTER_MS);
}

/** Hide participants' text while the page cannot learn whether it may still show it. */
function conceal(isUnknown) {
  if (!main.querySelector("[data-turns]")) return;
  if (isUnknown === main.hasAttribute("data-concealed")) return;
  if (isUnknown) left = { top: window.scrollY, focus: document.activeElement };
  main.toggleAttribute("data-concealed", isUnknown);
  outOfReach.hidden = !isUnknown;
  if (isUnknown || !left) return;
  if (main.contains(left.focus)) left.focus.focus({ preventScroll: true });
  window.scrollTo({ top: left.top, behavior: "instant" });
}

function blank() {
  connection.close();
  window.dispatchEvent(new Event("blanked"));
  document.body.replaceChildren();
  document.title = textOf("staff");
}

tabs.onmessage = () => {
  blank();
  setTimeout(reloadPatiently, SIGNED_OUT_AFTER_MS);
};
document.querySelector("[data-leave]").addEventListener("submit", () => tabs.postMessage("left"));
window.addEventListener("online", () => connection.wake());
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && connection.wake());
window.addEventListener("pagehide", (event) => (event.persisted ? blank() : connection.close()));
// A page restored from the back-forward cache was emptied before it was kept.
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
// After the page's other scripts have run: the first frame may be the one that empties the page.
document.addEventListener("DOMContentLoaded", () => connection.open());
