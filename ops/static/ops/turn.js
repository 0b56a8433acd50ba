/** A turn's story: reads along while a reply is being said, and is loaded again when the turn stands differently. */

import { reloadPatiently } from "../companion/backoff.js";
import { follow } from "./desk.js";

const story = document.querySelector("[data-story]").dataset;
const reply = document.querySelector("[data-reply]");
const nothing = document.querySelector("[data-nothing]");
const live = document.querySelector("[data-live]");

async function changed({ stands, seq }) {
  if (stands !== story.stands) return reloadPatiently();
  if (!reply || seq === Number(story.seq)) return;
  const words = await read();
  // What a slower answer brings may be older than what stands here.
  if (!words || words.stands !== story.stands || words.reply.length < reply.textContent.length) return;
  story.seq = seq;
  reply.textContent = words.reply;
  reply.hidden = !words.reply;
  if (nothing) nothing.hidden = Boolean(words.reply);
}

/** Null where it may not, or cannot, be read: then the socket says what becomes of this page. */
function read() {
  return fetch(story.words, { headers: { "X-Opened": story.opened }, redirect: "manual" })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);
}

if (live) live.textContent = "This page reads along by itself.";
follow([Number(story.story)], changed);
