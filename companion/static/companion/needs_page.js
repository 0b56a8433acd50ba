/** The page of choices: each press is stored at once and seen at once, and the sample shows what was chosen. */

import { choose, look } from "./look.js";
import { Reveal } from "./reveal.js";
import { fill } from "./text.js";
import { findVoice, hush, speak, watchVoices } from "./voice.js";

const ANSWER_WITHIN_MS = 8_000;
/** A piece of the sample comes as often as the words of a reply do. */
const PIECE_MS = 60;
const VOICES_WITHIN_MS = 2_000;

const find = (name) => document.querySelector(`[data-${name}]`);
const form = find("choices");
const said = find("said");
const sample = find("sample");
const read = find("read");
const text = sample.textContent.trim();
const readLabel = read.textContent;
let running = 0;
let isRead = false;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, value } = event.submitter;
  const answer = await post(name, value);
  if (answer === 401) return window.location.reload();
  if (!answer) return say(form.dataset.notChanged);
  choose(answer.look);
  for (const button of form.querySelectorAll("button[aria-pressed]")) {
    button.ariaPressed = String(answer.chosen[button.name] === button.value);
  }
  say(answer.said);
  offerUndo(answer.undo);
  offerVoice();
  if (name === "words") showSample();
});

/** The answer of the service; 401 when the visit is over, null when it cannot be reached. */
async function post(name, value) {
  const body = new URLSearchParams(new FormData(form));
  body.set(name, value);
  const headers = { Accept: "application/json" };
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  try {
    const response = await fetch(form.action, { method: "POST", body, headers, redirect: "manual", signal });
    if (response.status === 401) return 401;
    const answer = response.ok ? await response.json() : null;
    return answer?.look ? answer : null;
  } catch {
    return null;
  }
}

/** A node of its own, so that the same words are announced again. */
function say(line) {
  const node = document.createElement("span");
  node.textContent = line;
  said.replaceChildren(node);
}

function offerUndo(offered) {
  const button = find("undo-button");
  // Hiding a focused button would lose the focus, so it moves to the words about the change.
  if (!offered && document.activeElement === button) said.focus();
  button.hidden = !offered;
}

/** Show the sample as a reply of the chat would come. */
async function showSample() {
  const run = ++running;
  const turn = { id: run, reply: "", openings: [], line: "", state: "speaking" };
  const draw = () => {
    const shown = reveal.of(turn);
    fill(sample, shown.reply);
    find("sign").hidden = shown.state === "complete";
  };
  const reveal = new Reveal({ look, again: () => run === running && draw(), stillHere: "", stillHereMs: Infinity });
  for (const piece of text.split(/(?<=\s)/)) {
    draw();
    await new Promise((resolve) => setTimeout(resolve, PIECE_MS));
    if (run !== running) return reveal.pause();
    turn.reply += piece;
  }
  turn.state = "complete";
  draw();
}

function readSample() {
  const stops = isRead;
  stopReading();
  if (stops) return;
  isRead = true;
  read.textContent = read.dataset.stopReading;
  speak(text, { slowly: look.isSlow, ended: stopReading });
}

function stopReading() {
  hush();
  isRead = false;
  read.textContent = readLabel;
}

/** The button to read, or what to do on a machine without a voice. */
function offerVoice() {
  const hasVoice = Boolean(findVoice());
  read.hidden = !(hasVoice && look.hasAloud);
  if (hasVoice) find("no-voice").hidden = true;
}

find("scripted").hidden = false;
find("show-again").addEventListener("click", showSample);
read.addEventListener("click", readSample);
watchVoices(offerVoice);
offerVoice();
// Voices become known some time after the page; on most machines without one this never happens.
setTimeout(() => (find("no-voice").hidden = Boolean(findVoice())), VOICES_WITHIN_MS);
window.addEventListener("pagehide", stopReading);
document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && stopReading());
// A page from the browser's cache may be of a visit that is over.
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
