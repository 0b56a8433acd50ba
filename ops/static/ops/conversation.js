/** One person's page: the conversation live, with flags, notes and visits in it, and stepping in. */

import "./ages.js";
import { press, say, showScripted } from "./acts.js";
import { act, join } from "./desk_socket.js";
import { doingOf } from "./doing.js";
import { flagActs, showFlagActs } from "./flag_acts.js";
import { isLive, Talk } from "./talk.js";
import { entryOf, itemsOf } from "./talk_frames.js";
import { TalkView } from "./talk_view.js";
import { leave } from "./staff.js";
import { StepIn } from "./step_in.js";
import { textOf } from "./texts.js";

const NEAR_PX = 160;
const WRITING_MS = 6_000;
const AGAIN_AFTER_MS = 300;

const page = document.querySelector("[data-conversation]");
const find = (name) => page.querySelector(`[data-${name}]`);
const words = JSON.parse(page.dataset.words);
const me = {
  conversation: Number(page.dataset.conversation),
  participant: Number(page.dataset.participant),
  site: Number(page.dataset.site),
  me: Number(page.dataset.me),
  myName: page.dataset.myName,
};
const talk = new Talk();
const view = new TalkView(find("list"), { words, nothing: find("nothing") });
let earlier = page.dataset.earlier;
let again = null;
let writing = null;
/** The item of the person, while they are here. */
let here = null;
const stepIn = new StepIn(page.querySelector(".step-in"), me, stand);

function handle(frame) {
  const isOurs = (item) => item.conversation === me.conversation;
  if (frame.type === "hello") return knowPerson(frame.people.find(isOurs));
  if (frame.type === "people") {
    const isGone = frame.gone?.includes(me.conversation);
    const before = here;
    knowPerson(isGone ? { ...here, ...stepIn.state, turn: "idle", page_open: false } : frame.changed.find(isOurs));
    // The conversation says when a visit began, and how it ended.
    if (isGone || here?.visit !== before?.visit || here?.locked !== before?.locked) refresh();
    return;
  }
  if (frame.conversation !== me.conversation) return;
  if (frame.type === "watched") watched(frame);
  // The hour of an operator who stated a reason is over.
  else if (frame.type === "unwatched") leave();
  else if (frame.type === "flag") refresh({ flag: frame.id });
  else if (frame.type === "writing") showWriting();
  else take(frame);
}

function watched(frame) {
  show(talk.merge(itemsOf(frame.turns)));
  stepIn.know({ quiet: frame.quiet, ...(frame.person ? {} : { person: null }), ...(frame.paused ? {} : { paused: null }) });
  refresh();
}

function take(frame) {
  const entry = entryOf(frame, [talk.newestTurn, view.endMs]);
  if (!entry) {
    if (frame.type === "accepted") stopWriting();
    return show(talk.take(frame, new Date().toISOString()));
  }
  show(talk.merge([entry]));
  if (frame.type !== "person") return;
  if (frame.state === "joins" && !stepIn.isMine) stepIn.know({ person: { id: 0, name: frame.name } });
  if (frame.state !== "joins") stepIn.know({ person: null });
}

/** Draw what has changed; a reader at the end stays there, any other keeps their place. */
function show({ changed, again: isMissing }) {
  const follows = isAtEnd();
  for (const item of changed) {
    const node = view.draw(item);
    if (item.kind === "flag") showFlagActs(node, item, me.me);
    if (item.kind === "turn" && !isLive(item) && item.seq) node.dataset.ended = "";
  }
  if (follows && changed.length) toEnd();
  if (isMissing) again ??= setTimeout(watch, AGAIN_AFTER_MS);
}

function isAtEnd() {
  return document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR_PX;
}

function toEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}

function watch() {
  again = null;
  return act({ type: "watch", conversation: me.conversation }).then(({ done, text }) => say(find("line"), done ? "" : text));
}

/** Read items as they are stored: the last page, those before a turn, or one flag. */
async function refresh(which = {}) {
  const address = `${page.dataset.items}?${new URLSearchParams(which)}`;
  const response = await fetch(address, { headers: { "X-Opened": page.dataset.opened }, redirect: "manual" }).catch(() => null);
  const answer = response?.ok ? await response.json().catch(() => null) : null;
  if (response?.status === 403 || response?.status === 404) leave();
  if (answer) show(talk.merge(answer.items));
  return answer;
}

async function showEarlier(event) {
  event.preventDefault();
  const below = document.documentElement.scrollHeight - window.scrollY;
  const answer = await refresh({ before: earlier });
  if (!answer) return say(find("line"), textOf("earlier_unread"));
  window.scrollTo({ top: document.documentElement.scrollHeight - below, behavior: "instant" });
  earlier = answer.earlier;
  if (!earlier) event.target.closest("p").replaceChildren();
}

function knowPerson(item) {
  if (!item) return;
  here = item;
  stepIn.know({ person: item.person, quiet: item.quiet, paused: item.paused });
  if (item.turn === "writing") showWriting();
  else stopWriting();
}

/** One sentence about who speaks. */
function stand() {
  const { person, quiet, paused } = stepIn.state;
  const { name, character } = page.dataset;
  const isAway = here?.page_open === false;
  if (stepIn.isMine) say(find("standing"), textOf(isAway ? "taken_over_away" : "taken_over_here", { name }));
  else if (person) say(find("standing"), textOf("taken_over_by", { name: person.name }));
  else if (quiet) say(find("standing"), textOf("quiet", { character }));
  else if (paused) say(find("standing"), textOf("paused", { character }));
  else say(find("standing"), here ? does(here) : "");
}

/** What the person is doing. */
function does(item) {
  const doing = words.doings[doingOf(item)] ?? "";
  return item.locked ? textOf("doing_locked", { doing }) : doing;
}

function showWriting() {
  say(find("writing"), textOf("writing", { name: page.dataset.name }));
  clearTimeout(writing);
  writing = setTimeout(stopWriting, WRITING_MS);
}

function stopWriting() {
  clearTimeout(writing);
  say(find("writing"), "");
}

async function endVisit(event) {
  const button = event.target.closest("[data-end-visit]");
  if (!button) return;
  const visit = button.closest("[data-item]").dataset.id;
  const { done } = await press(button, { type: "end_visit", visit }, button.parentElement.querySelector("[data-act-says]"));
  if (done) refresh();
}

showScripted(page);
const person = Number(page.dataset.person);
stepIn.know({ person: person ? { id: person, name: page.dataset.personName } : null });
find("list").addEventListener("click", endVisit);
flagActs(find("list"), (flag) => refresh({ flag }));
find("show-earlier")?.addEventListener("click", showEarlier);
for (const node of find("list").querySelectorAll('[data-item="flag"]')) showFlagActs(node, flagFrom(node.dataset), me.me);
toEnd();
join({ frame: handle, up: () => watch().then(() => stepIn.connected(true)), down: () => stepIn.connected(false) });

function flagFrom({ state, owner, handed }) {
  return { state, owner: Number(owner) || null, handed_to: Number(handed) || null };
}
