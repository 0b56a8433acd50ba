/** The dashboard: updates the figures over a socket, and says when they are old. */

import { Connection } from "../companion/socket.js";
import { Alerts } from "./alerts.js";
import { leave } from "./staff.js";
import { Hour } from "./hour.js";
import { fill } from "./lists.js";
import { textOf } from "./texts.js";

const OLD_AFTER_MS = 5_000;
const CHECK_INTERVAL_MS = 1_000;

const page = document.querySelector("[data-dashboard]");
const find = (name) => page.querySelector(`[data-${name}]`);
const hour = new Hour(find("hour"), find("minutes"));
const alerts = new Alerts(document.querySelector("[data-alerts]"));
const connection = new Connection(page.dataset.dashboard, { frame: handleFrame, up() {}, down() {}, doubt() {}, sure() {}, signedOut: leave, notAllowed: leave });

let takenAt = performance.now();
let shown = find('text="at"').textContent;

function handleFrame(frame) {
  if (frame.type !== "now") return;
  takenAt = performance.now();
  shown = frame.texts.at;
  for (const [name, text] of Object.entries(frame.texts)) setText(name, text);
  if (frame.level) page.dataset.level = frame.level;
  for (const name of ["held", "processes", "reasons", "lanes", "alarms"]) {
    if (frame[name]) fill(find(`list="${name}"`), frame[name]);
  }
  if (frame.alerts) alerts.show(frame.alerts);
  if (frame.hour || frame.ceiling) hour.show(frame.hour, frame.ceiling);
  markOld();
}

/** Replace a text only when it changes: replacing loses a reader's selection and place. */
function setText(name, text) {
  for (const place of page.querySelectorAll(`[data-text=${name}]`)) {
    if (place.textContent !== text) place.textContent = text;
  }
}

/** Strike the figures through once no newer ones have come. */
function markOld() {
  const old = performance.now() - takenAt > OLD_AFTER_MS;
  if (("old" in page.dataset) === old) return;
  if (old) page.dataset.old = "";
  else delete page.dataset.old;
  find("old-says").textContent = old ? textOf("figures_old", { at: shown }) : textOf("figures_live");
}

function wake() {
  if (document.visibilityState === "visible") connection.wake();
}

find("how").textContent = textOf("figures_change");
hour.show(JSON.parse(find("hour").dataset.hour), Number(find("hour").dataset.ceiling));
connection.open();
setInterval(markOld, CHECK_INTERVAL_MS);
window.addEventListener("online", wake);
document.addEventListener("visibilitychange", wake);
window.addEventListener("pagehide", () => connection.close());
window.addEventListener("pageshow", (event) => event.persisted && connection.open());
