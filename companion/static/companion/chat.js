/** The chat page: brings the line, the turns, the view and the composer together. */

import { Announcer } from "./announce.js";
import { Away } from "./away.js";
import { reloadPatiently } from "./backoff.js";
import { Composer } from "./composer.js";
import { Kept } from "./kept.js";
import { Leaving } from "./leaving.js";
import { Painter } from "./painter.js";
import { Past } from "./past.js";
import { watchPresence } from "./presence.js";
import { Place } from "./scroll.js";
import { Line } from "./socket.js";
import { PAGE } from "./turn.js";
import { Turns } from "./turns.js";
import { View } from "./view.js";

const page = document.querySelector("[data-chat]");
const lines = page.dataset;
const find = (name) => document.querySelector(`[data-${name}]`);
const earlier = find("earlier");
const greeting = find("greeting");

let turns = new Turns({ stopped: lines.stopped });
let conversation = null;
let over = false;
const returned = new Set();

const announcer = new Announcer(find("status"));
const announce = (line) => announcer.say(line);
const away = new Away({ box: find("away"), lines, announce });
const view = new View(find("turns"), find("turn-template"));
const place = new Place({ newest: find("newest"), header: find("header"), writing: find("writing") });
const painter = new Painter(paint);
const leaving = new Leaving(page, empty);
const past = new Past(lines.history, { signedOut, somebodyElse });
const line = new Line(lines.socket, { frame: heard, up, down, signedOut, notAllowed });
const composer = new Composer({
  form: find("composer"),
  tooLong: lines.tooLong,
  send: (key, text) => line.ask({ type: "say", key, text }),
  stop: () => turns.firstLive() && line.send({ type: "stop", turn: turns.firstLive().id }),
  announce,
});
const kept = new Kept({ box: find("kept"), send: (frame) => line.ask(frame), announce, place, view });

function heard(frame) {
  if (over) return;
  if (frame.type === "accepted") return accepted(frame);
  // Comes before any hello, and then the door is shut: it stands where the line's own words do.
  if (frame.code === "too_many_pages") return void (lines.notAllowed = frame.line);
  if (frame.type === "hello" && (conversation ??= frame.conversation.id) !== frame.conversation.id) return somebodyElse();
  if (kept.take(frame)) return;
  if (frame.type === "problem") return composer.problem(frame.line, frame.code);
  note(turns.take(frame));
  if (frame.type === "refused") giveBack(turns.get(frame.turn));
}

function accepted(frame) {
  const question = composer.accepted(frame.key) ?? kept.accepted(frame.key);
  if (question === null) return note(turns.take(frame));
  painter.add(turns.begin(frame.turn, frame.key, question).id);
  painter.now();
  place.toEnd();
}

function up() {
  if (over) return;
  away.end();
  const all = turns.all();
  for (const turn of all) {
    composer.accepted(turn.key);
    if (!painter.isOpen) announcer.assume(turn);
  }
  const last = all.at(-1);
  composer.unstash();
  if (last?.state === "refused" && composer.isEmpty) giveBack(last);
  composer.resend();
  if (painter.isOpen) return painter.now();
  painter.open();
  // Whoever comes for the first time begins at the top, where it says whom they talk to.
  if (all.length) place.toEnd();
}

function down(announced) {
  composer.loosen();
  away.begin(announced);
}

function notAllowed() {
  composer.loosen();
  away.end();
  away.say(lines.notAllowed);
}

/** The service says the visit is over. */
function signedOut() {
  if (!over) leaving.signedOut();
}

/** Somebody has signed in on this machine since: nothing of the one before may reach them, or theirs this page. */
function somebodyElse() {
  empty();
  page.replaceChildren();
  reloadPatiently();
}

function giveBack(turn) {
  if (!turn?.question || returned.has(turn.id)) return;
  returned.add(turn.id);
  composer.giveBack(turn.question);
}

function note({ changed, gone, wishes }) {
  for (const id of gone) view.erase(id);
  painter.add(...changed);
  for (const wish of wishes) {
    if (wish.type === "fetch") fetchTurns({ after: wish.after });
    else line.send(wish);
  }
  painter.soon();
}

async function fetchTurns(which) {
  const snapshots = await past.read(which, conversation);
  if (over || !snapshots) return null;
  if ("before" in which) snapshots.forEach((turn) => announcer.assume(turn));
  note(turns.merge(snapshots));
  return snapshots;
}

function paint(ids) {
  const changed = ids.map((id) => turns.get(id)).filter(Boolean);
  place.during(
    () => changed.forEach((turn) => view.draw(turn)),
    () => view.newest(),
  );
  changed.forEach((turn) => announcer.follow(turn));
  kept.standAside(Boolean(turns.firstLive()));
  composer.offerStop(Boolean(turns.firstLive()));
  earlier.hidden = !turns.hasEarlier;
  greeting.hidden = turns.hasEarlier;
}

async function showEarlier() {
  const snapshots = await fetchTurns({ before: turns.all()[0].id });
  if (!snapshots) return;
  turns.hasEarlier = snapshots.length >= PAGE;
  const pressed = document.activeElement === earlier;
  place.keeping(() => painter.now());
  // The button goes when there is nothing more behind it; whoever pressed it goes on where it led.
  if (pressed && !turns.hasEarlier) greeting.focus({ preventScroll: true });
}

/** Everything anyone said leaves the page, and with it every way to bring it back. */
function empty() {
  over = true;
  painter.shut();
  line.close();
  away.end();
  composer.forget();
  announcer.silence();
  [view, kept].forEach((one) => one.clear());
  turns = new Turns({ stopped: "" });
}

/** The page is being left. The browser may keep it whole and show it again: it keeps an empty one. */
function putAway() {
  painter.shut();
  line.close();
  composer.stash();
  announcer.silence();
  [view, kept].forEach((one) => one.clear());
  greeting.hidden = true;
}

function takeOut() {
  if (over) return;
  painter.add(...turns.all().map((turn) => turn.id));
  line.open();
}

function wake() {
  line.wake();
  turns.catchUp().forEach((frame) => line.send(frame));
  painter.soon();
}

earlier.addEventListener("click", showEarlier);
find("newest").addEventListener("click", () => {
  find("composer").querySelector("textarea").focus({ preventScroll: true });
  place.toEnd();
});
find("no-script").remove();
find("send").disabled = false;
watchPresence({ putAway, takeOut, wake });
line.open();
