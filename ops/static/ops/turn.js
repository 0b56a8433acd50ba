/** A turn's page: shows a live reply as it grows, and reloads when the turn's state changes. */

import { reloadPatiently } from "../companion/backoff.js";
import { follow } from "./staff.js";
import { textOf } from "./texts.js";

const story = document.querySelector("[data-story]").dataset;
const reply = document.querySelector("[data-reply]");
const nothing = document.querySelector("[data-nothing]");
const live = document.querySelector("[data-live]");

async function changed({ stands, seq }) {
  if (stands !== story.stands) return reloadPatiently();
  if (!reply || seq === Number(story.seq)) return;
  const words = await fetchWords();
  // A slow response may be older than the text on the page.
  if (!words || words.stands !== story.stands || words.reply.length < reply.textContent.length) return;
  story.seq = seq;
  reply.textContent = words.reply;
  reply.hidden = !words.reply;
  if (nothing) nothing.hidden = Boolean(words.reply);
}

/** The words so far; null if they cannot or may not be read. The socket then decides what becomes of the page. */
function fetchWords() {
  return fetch(story.words, { headers: { "X-Opened": story.opened }, redirect: "manual" })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);
}

if (live) live.textContent = textOf("reads_along");
follow([Number(story.story)], changed);
