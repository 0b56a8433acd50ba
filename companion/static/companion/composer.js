/** Where a person writes: keeps the words until the service has them, and takes them back when it cannot. */

import { newKey } from "./keys.js";
import { isTooLong, isVisible } from "./message.js";

const LATE_AFTER_MS = 10_000;

/**
 * `lines` are {tooLong, nothingWritten}. `send(key, text)` hands a message over; it may be called again with the same key.
 * `changed()` is called when the words in the box are others.
 */
export class Composer {
  #form;
  #box;
  #stop;
  #problem;
  #lines;
  #send;
  #announce;
  #changed;
  #returned = new Set();
  #pending = null;
  #stashed = "";

  constructor({ form, lines, send, stop, announce, changed }) {
    this.#form = form;
    this.#box = form.querySelector("textarea");
    this.#stop = form.querySelector("[data-stop]");
    this.#problem = form.querySelector("[data-problem]");
    this.#lines = lines;
    this.#send = send;
    this.#announce = announce;
    this.#changed = changed;
    form.addEventListener("submit", (event) => this.#submitted(event));
    this.#box.addEventListener("keydown", (event) => this.#pressed(event));
    this.#box.addEventListener("input", () => this.#edited());
    this.#stop.addEventListener("click", () => this.#stop.ariaDisabled !== "true" && stop());
    this.#stop.addEventListener("blur", () => this.#concealStop());
  }

  /** The line is up: what was on its way when it broke is sent once more, under the same key. */
  resend() {
    if (!this.#pending) return;
    this.#pending.at = Date.now();
    this.#send(this.#pending.key, this.#pending.text);
  }

  /** The same where the answer is late: it may have been lost. */
  resendLate() {
    if (this.#pending && Date.now() - this.#pending.at >= LATE_AFTER_MS) this.resend();
  }

  /** Whether a message is on its way. */
  get isSending() {
    return this.#pending !== null;
  }

  /** Every word that is typed and not sent. */
  get words() {
    return this.#box.value || this.#stashed;
  }

  /** The service has the message of this key. The words leave the box; the message is returned. */
  accepted(key) {
    if (this.#pending?.key !== key) return null;
    const { text } = this.#pending;
    this.#settle();
    const now = this.#box.value;
    if (now.startsWith(text)) this.#box.value = now.slice(text.length).trimStart();
    // Words that came back meanwhile stand before them.
    else if (now.trimEnd().endsWith(text)) this.#box.value = now.trimEnd().slice(0, -text.length).trimEnd();
    this.#changed();
    return text;
  }

  /** The service could not do something: the line says so, the words stay. */
  problem(line, code) {
    // This one is never about the message: a message that is on its way still is.
    if (code !== "not_allowed") this.#settle();
    this.#show(line);
  }

  /** A question that was not read goes back where it was written, once, before anything written since. */
  giveBack(turn) {
    if (!turn?.question || this.#returned.has(turn.id)) return;
    this.#returned.add(turn.id);
    this.restore(turn.question);
  }

  /** Put words before those in the box, unless they are what is in it. */
  restore(text) {
    const now = this.#box.value;
    if (now.trim() === text.trim()) return;
    this.#box.value = now.trim() ? `${text}\n\n${now}` : text;
    this.#changed();
  }

  get isEmpty() {
    return !this.#box.value.trim() && !this.#pending;
  }

  /** Whether Stop can be pressed. */
  offerStop(offered) {
    this.#stop.ariaDisabled = offered ? null : "true";
    if (offered) this.#stop.hidden = false;
    else this.#concealStop();
  }

  /** Take the words off the page, but not away: the page is being left and may be shown again. */
  stash() {
    this.#stashed = this.#box.value || this.#stashed;
    this.#box.value = "";
  }

  unstash() {
    if (this.#stashed && !this.#box.value) this.#box.value = this.#stashed;
    this.#stashed = "";
  }

  forget() {
    this.#returned.clear();
    this.#stashed = "";
    this.#box.value = "";
    this.#settle();
  }

  #submitted(event) {
    event.preventDefault();
    const text = this.#box.value.trim();
    if (!text) return;
    if (isTooLong(text)) return this.#show(this.#lines.tooLong);
    if (!isVisible(text)) return this.#show(this.#lines.nothingWritten);
    if (this.#pending?.text !== text) this.#pending = { key: newKey(), text, at: Date.now() };
    this.#show("");
    this.#box.readOnly = this.#send(this.#pending.key, text);
    this.#form.ariaBusy = "true";
  }

  #pressed(event) {
    // Enter also ends a word that is being composed; that is not a wish to send.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    this.#form.requestSubmit();
  }

  #edited() {
    this.#changed();
    this.#show("");
    // Edited words are another message. If the first one did arrive, it comes back as a turn of its own.
    if (this.#pending && this.#box.value.trim() !== this.#pending.text) this.#settle();
  }

  #settle() {
    this.#pending = null;
    this.#box.readOnly = false;
    this.#form.ariaBusy = null;
  }

  /** The line broke before the service answered: the words may be changed again. */
  loosen() {
    this.#box.readOnly = false;
  }

  #show(line) {
    this.#problem.querySelector("[data-words]").textContent = line;
    this.#problem.hidden = !line;
    if (line) this.#announce(line);
  }

  #concealStop() {
    // A button that vanishes under the finger takes the focus with it; it stays until the focus has moved on.
    if (this.#stop.ariaDisabled === "true" && document.activeElement !== this.#stop) this.#stop.hidden = true;
  }
}
