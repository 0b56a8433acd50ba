/** The chat page: connects the socket, the turns, the view and the composer. */

import { reloadPatiently } from "./backoff.js";
import { Composer } from "./composer.js";
import { Delivery } from "./delivery.js";
import { Drafts } from "./drafts.js";
import { Earlier } from "./earlier.js";
import { Help } from "./help.js";
import { HistoryReader } from "./history.js";
import { Idle } from "./idle.js";
import { KeptQuestions } from "./kept_questions.js";
import { Leaving } from "./leaving.js";
import { watchOverdue } from "./overdue.js";
import { OfflineNotice } from "./offline.js";
import { Painter } from "./painter.js";
import { watchPresence } from "./presence.js";
import { Recipient } from "./recipient.js";
import { Place } from "./scroll.js";
import { Connection } from "./socket.js";
import { Turns } from "./turns.js";
import { View } from "./view.js";

const page = document.querySelector("[data-chat]");
const lines = page.dataset;
const find = (name) => document.querySelector(`[data-${name}]`);

let [turns, conversation, over] = [new Turns({ stopped: lines.stopped }), null, false];
const delivery = new Delivery({ find, lines, again: drawAgain });
const announce = (text) => delivery.say(text);
const offline = new OfflineNotice({ page, box: find("away"), lines, announce });
const view = new View(find("turns"), (name) => find(`${name}-template`));
const place = new Place({ newest: find("newest"), above: [find("top"), find("strip")], writing: find("writing") });
const painter = new Painter(paint);
const leaving = new Leaving(page, empty);
const signedOut = (reason) => over || leaving.signedOut(reason);
const historyReader = new HistoryReader(lines.history, { signedOut, visitReplaced });
const earlier = new Earlier({ button: find("earlier"), greeting: find("greeting"), fetchTurns, turns: () => turns, place, painter });
const line = new Connection(lines.socket, {
  ...{ frame: handleFrame, up, down, signedOut, notAllowed },
  // The message stays in the box and is not sent again.
  tooLarge: () => composer.showProblem(lines.tooLong, "too_long"),
  ...{ doubt: (silent) => offline.begin({ silent }), sure: () => offline.end() },
});
const composer = new Composer({
  ...{ form: find("composer"), lines, announce, changed: () => drafts.saveLater() },
  send: (key, text) => line.ask({ type: "say", key, text }),
  stop: () => turns.firstLive() && line.send({ type: "stop", turn: turns.firstLive().id }),
});
const isSaid = (about) => turns.all().at(-1)?.line === about;
const recipient = new Recipient({ form: find("composer"), lines, announce, isSaid, send: (frame) => line.send(frame) });
const help = new Help({ form: find("help"), line: lines.helpNotSent, connection: line, announce, place, answered: showEnd, signedOut });
const kept = new KeptQuestions({ box: find("kept"), send: (frame) => line.ask(frame), announce, place, view });
const doubt = () => [suspend(), resume()];
const idle = new Idle({ box: find("idle"), form: find("composer"), line, announce, lock: () => leaving.lock(), doubt });
const drafts = new Drafts({ path: lines.draft, form: find("finish"), offered: "hasDraft" in lines, composer, visitReplaced });

function handleFrame(frame) {
  if (over) return;
  if ("idle" in frame) idle.start(frame.idle);
  if (frame.type === "accepted") return confirmMessage(frame);
  // Sent before any hello and followed by a close: the frame's line is shown as the reason.
  if (frame.code === "too_many_pages") return void (lines.notAllowed = frame.line);
  if (frame.type === "hello" && (conversation ??= frame.conversation.id) !== frame.conversation.id) return visitReplaced();
  if (kept.handle(frame)) return;
  if (frame.type === "problem") return composer.showProblem(frame.line, frame.code);
  note(turns.apply(frame));
  if (turns.get(frame.turn)?.unread) composer.giveBack(turns.get(frame.turn));
  for (const one of [recipient, help, delivery]) one.apply(frame);
}

/** Show the end of what has been said: something that was sent from here has arrived. */
function showEnd() {
  painter.flush();
  place.toEnd();
}

function confirmMessage(frame) {
  const question = composer.confirm(frame.key) ?? kept.confirm(frame.key);
  if (question === null) return note(turns.apply(frame));
  painter.add(turns.begin(frame.turn, frame.key, question).id);
  showEnd();
}

function up() {
  if (over) return;
  offline.end();
  const all = turns.all();
  for (const turn of all) composer.confirm(turn.key);
  if (!painter.isOpen) for (const item of turns.items()) delivery.assume(item);
  composer.unstash();
  if (all.at(-1)?.unread && composer.isEmpty) composer.giveBack(all.at(-1));
  composer.resend();
  drafts.open(conversation);
  if (painter.isOpen) return painter.flush();
  painter.open();
  // A first visit starts at the top, where the page says who the character is.
  if (turns.items().length) place.toEnd(kept.shown);
}

function down(announced) {
  composer.unlock();
  offline.begin({ announced });
}

function notAllowed() {
  composer.unlock();
  offline.refuse(lines.notAllowed);
}

/** Another participant has signed in with this browser: neither may see anything of the other. */
function visitReplaced() {
  empty({ keepsWords: false });
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
  painter.schedule();
}

async function fetchTurns(which) {
  const found = await historyReader.read(which, conversation);
  if (over || !found) return null;
  const news = turns.merge(found.turns, which.after);
  if ("before" in which) news.changed.forEach((id) => delivery.assume(turns.item(id)));
  note(news);
  return found;
}

function paint(ids) {
  let items = ids.map((id) => turns.item(id)).filter(Boolean);
  place.during(
    () => (items = items.map((item) => delivery.draw(view, item))),
    () => view.newest(),
  );
  for (const item of items) help.hasAnnounced(item) ? delivery.assume(item) : delivery.follow(item);
  const isLive = Boolean(turns.firstLive());
  kept.standAside(isLive);
  composer.offerStop(isLive);
  line.await(isLive || recipient.isPerson);
  earlier.offer(turns.hasEarlier);
}

/** Remove the conversation from the page, and everything that could draw it again. */
function empty({ keepsWords }) {
  const isSaved = keepsWords ? drafts.saveLast() : drafts.shut();
  over = true;
  help.shut();
  offline.end();
  composer.forget();
  hide();
  turns = new Turns({ stopped: "" });
  return isSaved;
}

/** Empty the page when it is left, because the browser may keep it in its back-forward cache. */
function suspend() {
  composer.stash();
  drafts.saveNow();
  hide();
  find("greeting").hidden = true;
}

function hide() {
  idle.stop();
  painter.shut();
  line.close();
  [delivery, view, kept, recipient, help].forEach((one) => one.clear());
}

function resume() {
  if (over) return;
  drawAgain();
  line.open();
}

/** Draw one turn again, or everything. */
function drawAgain(id) {
  painter.add(...(id === undefined ? turns.items().map((item) => item.id) : [id]));
  painter.schedule();
}

function wake() {
  line.wake();
  turns.catchUp().forEach((frame) => line.send(frame));
  painter.schedule();
}

find("no-script").remove();
find("send").disabled = false;
watchPresence({ suspend, resume, unplugged: () => line.unplugged(), hidden: () => drafts.saveNow(), wake });
watchOverdue({ line, composer, turns: () => turns });
line.open();
