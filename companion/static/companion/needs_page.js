/** The sample on the page of choices: how a reply comes now, and how it is read aloud. */

import { pause } from "./backoff.js";
import { askRecorded } from "./choices.js";
import { look } from "./look.js";
import { Reveal } from "./reveal.js";
import { fill } from "./text.js";
import { watchVisit } from "./visit_watch.js";
import { findVoice, hush, speak, watchVoices } from "./voice.js";

/** A piece of the sample comes as often as the words of a reply do. */
const PIECE_MS = 60;
const VOICES_WITHIN_MS = 2_000;

const find = (name) => document.querySelector(`[data-${name}]`);
const form = find("choices");
const sample = find("sample");
const read = find("read");
const noVoice = find("no-voice");
const text = sample.textContent.trim();
const readLabel = read.textContent;
let running = 0;
let isRead = false;

form.addEventListener("chosen", ({ detail }) => {
  offerVoice();
  if (detail === "words") showSample();
});

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
    await pause(PIECE_MS);
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
  if (hasVoice) noVoice.hidden = true;
}

find("scripted").hidden = false;
find("show-again").addEventListener("click", showSample);
read.addEventListener("click", readSample);
watchVoices(offerVoice);
offerVoice();
// Voices become known some time after the page; on most machines without one this never happens.
setTimeout(() => (noVoice.hidden = Boolean(findVoice())), VOICES_WITHIN_MS);
window.addEventListener("pagehide", stopReading);
document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && stopReading());
watchVisit(form.action, askRecorded);
// A page from the browser's cache may be of a visit that is over.
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
