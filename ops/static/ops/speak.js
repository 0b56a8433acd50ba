/** Where a member of staff writes to a participant: the words stay in the box until they are stored. */

import { newKey } from "../companion/keys.js";
import { isTooLong, isVisible } from "../companion/message.js";
import { say } from "./acts.js";
import { act, isUp, send } from "./desk_socket.js";
import { textOf } from "./texts.js";

const WRITING_EVERY_MS = 2_000;
const LINES = {
  long: textOf("words_long"),
  empty: textOf("words_empty"),
  away: textOf("words_away"),
};
/** Refusals after which the same words are sent again by themselves. */
const AGAIN = new Set(["not_connected", "no_answer", "lost", "try_again"]);

/** `form` has a textarea and a place for problems. Sends under one key until the service has stored the words. */
export class Speak {
  #form;
  #box;
  #problem;
  #conversation;
  #pending = null;
  #isSending = false;
  #wroteAt = 0;

  constructor(form, conversation) {
    this.#form = form;
    this.#box = form.querySelector("textarea");
    this.#problem = form.querySelector("[data-problem]");
    this.#conversation = conversation;
    form.addEventListener("submit", (event) => this.#submitted(event));
    this.#box.addEventListener("keydown", (event) => this.#pressed(event));
    this.#box.addEventListener("input", () => this.#edited());
  }

  /** Whether words are typed or sent that are not stored. */
  get hasWords() {
    return Boolean(this.#box.value.trim());
  }

  focus() {
    this.#box.focus({ preventScroll: true });
  }

  /** Send what waits again, under the same key. */
  resend() {
    if (this.#pending && !this.#isSending) this.#send();
  }

  #submitted(event) {
    event.preventDefault();
    const text = this.#box.value.trim();
    if (!isVisible(text)) return say(this.#problem, LINES.empty);
    if (isTooLong(text)) return say(this.#problem, LINES.long);
    if (this.#isSending) return;
    if (this.#pending?.text !== text) this.#pending = { key: newKey(), text };
    this.#send();
  }

  async #send() {
    const { key, text } = this.#pending;
    this.#isSending = true;
    this.#form.ariaBusy = "true";
    say(this.#problem, isUp() ? "" : LINES.away);
    const { done, code, text: why } = await act({ type: "say", conversation: this.#conversation, key, text });
    this.#isSending = false;
    this.#form.ariaBusy = null;
    if (done) return this.#stored(key, text);
    say(this.#problem, AGAIN.has(code) ? LINES.away : why);
    if (!AGAIN.has(code) && this.#pending?.key === key) this.#pending = null;
  }

  /** Words that were typed on after the sending stay in the box. */
  #stored(key, text) {
    if (this.#pending?.key === key) this.#pending = null;
    const now = this.#box.value.trimStart();
    if (now.startsWith(text)) this.#box.value = now.slice(text.length).trimStart();
  }

  #pressed(event) {
    // Enter also confirms a word in an input method editor; that must not send.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    this.#form.requestSubmit();
  }

  #edited() {
    say(this.#problem, isTooLong(this.#box.value.trim()) ? LINES.long : "");
    if (Date.now() - this.#wroteAt < WRITING_EVERY_MS) return;
    this.#wroteAt = Date.now();
    send({ type: "writing", conversation: this.#conversation });
  }
}
