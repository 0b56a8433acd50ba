/** The message form: keeps the words until the service has stored them, and restores them when it cannot. */

import { newKey } from "./keys.js";
import { isTooLong, isVisible } from "./message.js";

const LATE_AFTER_MS = 10_000;

/**
 * `lines` are {tooLong, nothingWritten}. `send(key, text)` hands a message over; it may be called again with the same key.
 * `changed()` is called when the words in the box change.
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
    form.addEventListener("submit", (event) => this.#onSubmit(event));
    this.#box.addEventListener("keydown", (event) => this.#onKeydown(event));
    this.#box.addEventListener("input", () => this.#onInput());
    this.#stop.addEventListener("click", () => this.#stop.ariaDisabled !== "true" && stop());
    this.#stop.addEventListener("blur", () => this.#concealStop());
  }

  /** Send the pending message again under the same key, after a reconnect. */
  resend() {
    if (!this.#pending) return;
    this.#pending.at = Date.now();
    this.#send(this.#pending.key, this.#pending.text);
  }

  /** Send the pending message again if its answer is late: the frame may be lost. */
  resendLate() {
    if (this.#pending && Date.now() - this.#pending.at >= LATE_AFTER_MS) this.resend();
  }

  /** Whether a message is sent and not yet accepted. */
  get isSending() {
    return this.#pending !== null;
  }

  /** The words that are typed and not sent. */
  get words() {
    return this.#box.value || this.#stashed;
  }

  /** The service has stored the message of this key: remove it from the box, and return it. */
  confirm(key) {
    if (this.#pending?.key !== key) return null;
    const { text } = this.#pending;
    this.#settle();
    const now = this.#box.value;
    if (now.startsWith(text)) this.#box.value = now.slice(text.length).trimStart();
    // Words that were restored meanwhile come before the message.
    else if (now.trimEnd().endsWith(text)) this.#box.value = now.trimEnd().slice(0, -text.length).trimEnd();
    this.#changed();
    return text;
  }

  /** Show a drafted line about a problem. The words stay in the box. */
  showProblem(line, code) {
    // `not_allowed` is never about the message, so a pending message stays pending.
    if (code !== "not_allowed") this.#settle();
    this.#show(line);
  }

  /** Put a question that no provider has read back into the box, once, before newer words. */
  giveBack(turn) {
    if (!turn?.question || this.#returned.has(turn.id)) return;
    this.#returned.add(turn.id);
    this.restore(turn.question);
  }

  /** Put words before those in the box, unless the box contains the same words. */
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

  /** Hide the words while the page is left; it may be shown again. */
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

  #onSubmit(event) {
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

  #onKeydown(event) {
    // Enter also confirms a word in an input method editor; that must not send.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    this.#form.requestSubmit();
  }

  #onInput() {
    this.#changed();
    this.#show("");
    // Edited words are a new message. If the first one was stored, it arrives as a turn of its own.
    if (this.#pending && this.#box.value.trim() !== this.#pending.text) this.#settle();
  }

  #settle() {
    this.#pending = null;
    this.#box.readOnly = false;
    this.#form.ariaBusy = null;
  }

  /** Make the words editable again: the connection was lost before the service answered. */
  unlock() {
    this.#box.readOnly = false;
  }

  #show(line) {
    this.#problem.querySelector("[data-words]").textContent = line;
    this.#problem.hidden = !line;
    if (line) this.#announce(line);
  }

  #concealStop() {
    // Hiding a focused button would lose the focus, so it is hidden after the focus has moved.
    if (this.#stop.ariaDisabled === "true" && document.activeElement !== this.#stop) this.#stop.hidden = true;
  }
}
