/** The chat page: brings the line, the turns, the view and the composer together. */

import { Announcer } from "./announce.js";
import { Away } from "./away.js";
import { reloadPatiently } from "./backoff.js";
import { Composer } from "./composer.js";
import { Drafts } from "./drafts.js";
import { Earlier } from "./earlier.js";
import { Kept } from "./kept.js";
import { Leaving } from "./leaving.js";
import { watchForWhatIsOverdue } from "./overdue.js";
import { Painter } from "./painter.js";
import { Past } from "./past.js";
import { watchPresence } from "./presence.js";
import { Place } from "./scroll.js";
import { Line } from "./socket.js";
import { Turns } from "./turns.js";
import { View } from "./view.js";

const page = document.querySelector("[data-chat]");
const lines = page.dataset;
const find = (name) => document.querySelector(`[data-${name}]`);

let turns = new Turns({ stopped: lines.stopped });
let conversation = null;
let over = false;

const announcer = new Announcer(find("status"));
const announce = (text) => announcer.say(text);
const away = new Away({ page, box: find("away"), lines, announce });
const view = new View(find("turns"), find("turn-template"), find("drafted-template"));
const place = new Place({ newest: find("newest"), header: find("header"), writing: find("writing") });
const painter = new Painter(paint);
const leaving = new Leaving(page, empty);
const past = new Past(lines.history, { signedOut, somebodyElse });
const earlier = new Earlier({ button: find("earlier"), greeting: find("greeting"), fetchTurns, turns: () => turns, place, painter });
const line = new Line(lines.socket, {
  ...{ frame: heard, up, down, tooLarge, signedOut, notAllowed },
  doubt: (silent) => away.begin({ silent }),
  sure: () => away.end(),
});
const composer = new Composer({
  form: find("composer"),
  lines,
  send: (key, text) => line.ask({ type: "say", key, text }),
  stop: () => turns.firstLive() && line.send({ type: "stop", turn: turns.firstLive().id }),
  announce,
  changed: () => drafts.later(),
});
const kept = new Kept({ box: find("kept"), send: (frame) => line.ask(frame), announce, place, view });
const drafts = new Drafts({ path: lines.draft, form: find("finish"), offered: "hasDraft" in lines, composer, somebodyElse });

function heard(frame) {
  if (over) return;
  if (frame.type === "accepted") return accepted(frame);
  // Comes before any hello, and then the door is shut: it stands where the line's own words do.
  if (frame.code === "too_many_pages") return void (lines.notAllowed = frame.line);
  if (frame.type === "hello" && (conversation ??= frame.conversation.id) !== frame.conversation.id) return somebodyElse();
  if (kept.take(frame)) return;
  if (frame.type === "problem") return composer.problem(frame.line, frame.code);
  note(turns.take(frame));
  if (turns.get(frame.turn)?.unread) composer.giveBack(turns.get(frame.turn));
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
  composer.unstash();
  if (all.at(-1)?.unread && composer.isEmpty) composer.giveBack(all.at(-1));
  composer.resend();
  drafts.open(conversation);
  if (painter.isOpen) return painter.now();
  painter.open();
  // Whoever comes for the first time begins at the top, where it says whom they talk to.
  if (all.length) place.toEnd(kept.shown);
}

function down(announced) {
  composer.loosen();
  away.begin({ announced });
}

function notAllowed() {
  composer.loosen();
  away.refuse(lines.notAllowed);
}

/** The service would not read what was sent: it is not sent again, and stays in the box. */
function tooLarge() {
  composer.problem(lines.tooLong, "too_long");
}

/** The service says the visit is over. */
function signedOut() {
  if (over) return;
  drafts.last();
  leaving.signedOut();
}

/** Somebody has signed in on this machine since: nothing of the one before may reach them, or theirs this page. */
function somebodyElse() {
  empty();
  page.replaceChildren();
  reloadPatiently();
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
  const found = await past.read(which, conversation);
  if (over || !found) return null;
  if ("before" in which) found.turns.forEach((turn) => announcer.assume(turn));
  note(turns.merge(found.turns));
  return found;
}

function paint(ids) {
  const changed = ids.map((id) => turns.get(id)).filter(Boolean);
  place.during(
    () => changed.forEach((turn) => view.draw(turn)),
    () => view.newest(),
  );
  changed.forEach((turn) => announcer.follow(turn));
  const isLive = Boolean(turns.firstLive());
  kept.standAside(isLive);
  composer.offerStop(isLive);
  line.await(isLive);
  earlier.offer(turns.hasEarlier);
}

/** Everything anyone said leaves the page, and with it every way to bring it back. */
function empty() {
  over = true;
  drafts.shut();
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
  drafts.now();
  announcer.silence();
  [view, kept].forEach((one) => one.clear());
  find("greeting").hidden = true;
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

find("no-script").remove();
find("send").disabled = false;
watchPresence({ putAway, takeOut, unplugged: () => line.unplugged(), hidden: () => drafts.now(), wake });
watchForWhatIsOverdue({ line, composer, turns: () => turns });
line.open();
