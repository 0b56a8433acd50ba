/** The waiting page of a shared machine: shows at once whom staff have asked for, and sends the answer. */

import { Announcer } from "./announce.js";
import { reloadPatiently } from "./backoff.js";
import { putOn } from "./look.js";
import { postUntil } from "./request.js";
import { Connection } from "./socket.js";

const ANSWER_WITHIN_MS = 10_000;
const LATE_AFTER_MS = 3_000;
/** A press that was meant for what stood here before must not answer a new question. */
const SETTLE_MS = 600;
/** A page that waits for days loads again now and then: its cookie gets a new value, and it follows the release. */
const RELOAD_AFTER_MS = 30 * 60_000;

const page = document.querySelector("[data-machine]");
const find = (name) => page.querySelector(`[data-${name}]`);
const [waiting, form, news] = [find("waiting"), find("asks"), find("news")];
const question = find("question-text");
const status = document.querySelector("[data-status]");
const announcer = new Announcer(status);
const connection = new Connection(page.dataset.socket, {
  frame,
  up: () => tell(""),
  down: lateness,
  signedOut: reloadPatiently,
});
let sending = false;
let late = null;
let settling = null;
/** What the service last said that this machine asks; null: nothing. */
let asked = null;

function frame(data) {
  if (data.type === "offer") asked = data;
  if (data.type === "waiting") asked = null;
  if (!sending) show();
}

function show() {
  if (asked) ask(asked);
  else rest();
}

/** Show whose visit staff have offered. The focus stays where it is: the buttons are the next stop of the Tab key. */
function ask({ offer, name, ...words }) {
  if (form.elements.offer.value === String(offer) && !form.hidden) return;
  form.elements.offer.value = offer;
  speak(name, words);
  news.textContent = "";
  settle();
  waiting.hidden = true;
  form.hidden = false;
  announcer.say(question.textContent);
}

/** The question in the language and the look of the person. A process of the previous release sends the name alone. */
function speak(name, { language, question: asks, yes, no, look = {} }) {
  status.lang = form.lang = language ?? document.documentElement.lang;
  question.textContent = asks ?? page.dataset.question.replaceAll("{name}", () => name);
  form.querySelector('[value="yes"]').textContent = yes ?? page.dataset.yes;
  form.querySelector('[value="no"]').textContent = no ?? page.dataset.no;
  putOn(look);
}

function settle() {
  enable(false);
  clearTimeout(settling);
  settling = setTimeout(() => sending || enable(true), SETTLE_MS);
}

/** No one is asked for: no name stays on the page. */
function rest() {
  form.elements.offer.value = "";
  question.textContent = "";
  putOn({});
  announcer.silence();
  form.hidden = true;
  waiting.hidden = false;
}

async function answer(event) {
  event.preventDefault();
  if (sending || event.submitter.ariaDisabled) return;
  sending = true;
  enable(false);
  const facts = new URLSearchParams(new FormData(form));
  facts.set("answer", event.submitter.value);
  const slow = setTimeout(() => tell(page.dataset.outOfReach), LATE_AFTER_MS);
  // The same answer again does no harm.
  const told = await postUntil(form.action, { body: facts, accepts: (said) => said?.outcome, withinMs: ANSWER_WITHIN_MS });
  clearTimeout(slow);
  if (told.outcome === "opened") return void window.location.replace(page.dataset.chat);
  sending = false;
  // Staff may have asked for the next person already.
  if (String(asked?.offer) === facts.get("offer")) asked = null;
  rest();
  tell(told.line);
  show();
}

function enable(isEnabled) {
  for (const button of form.querySelectorAll("button")) button.ariaDisabled = isEnabled ? null : "true";
}

function lateness() {
  late ??= setTimeout(() => connection.isUp || tell(page.dataset.outOfReach), LATE_AFTER_MS);
}

function tell(line) {
  if (!line) {
    clearTimeout(late);
    late = null;
    if (news.textContent !== page.dataset.outOfReach) return;
  }
  if (news.textContent !== line) news.textContent = line;
}

find("no-script").remove();
form.addEventListener("submit", answer);
window.addEventListener("online", () => connection.wake());
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && connection.wake());
// The browser may keep this page: it keeps no name, and asks again what is true.
window.addEventListener("pagehide", () => {
  connection.close();
  rest();
});
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
setInterval(() => form.hidden && !sending && connection.isUp && window.location.reload(), RELOAD_AFTER_MS);
connection.open();
