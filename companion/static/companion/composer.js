/** Where a person writes: keeps the words until the service has them, and takes them back when it cannot. */

import { newKey } from "./keys.js";

const LONGEST_MESSAGE = 4_000;

/** `send(key, text)` hands a message over; it may be called again with the same key. */
export class Composer {
  #form;
  #box;
  #stop;
  #problem;
  #tooLong;
  #send;
  #announce;
  #pending = null;
  #stashed = "";

  constructor({ form, tooLong, send, stop, announce }) {
    this.#form = form;
    this.#box = form.querySelector("textarea");
    this.#stop = form.querySelector("[data-stop]");
    this.#problem = form.querySelector("[data-problem]");
    this.#tooLong = tooLong;
    this.#send = send;
    this.#announce = announce;
    form.addEventListener("submit", (event) => this.#submitted(event));
    this.#box.addEventListener("keydown", (event) => this.#pressed(event));
    this.#box.addEventListener("input", () => this.#edited());
    this.#stop.addEventListener("click", () => this.#stop.ariaDisabled !== "true" && stop());
    this.#stop.addEventListener("blur", () => this.#concealStop());
  }

  /** The line is up: what was on its way when it broke is sent once more, under the same key. */
  resend() {
    if (this.#pending) this.#send(this.#pending.key, this.#pending.text);
  }

  /** The service has the message of this key. The words leave the box; the message is returned. */
  accepted(key) {
    if (this.#pending?.key !== key) return null;
    const { text } = this.#pending;
    this.#settle();
    if (this.#box.value.startsWith(text)) this.#box.value = this.#box.value.slice(text.length).trimStart();
    else if (this.#box.value.trim() === text.trim()) this.#box.value = "";
    return text;
  }

  /** The service could not do something: the line says so, the words stay. */
  problem(line, code) {
    // This one is never about the message: a message that is on its way still is.
    if (code !== "not_allowed") this.#settle();
    this.#show(line);
  }

  /** Words that were not answered go back where they were written, before anything written since. */
  giveBack(text) {
    const now = this.#box.value;
    if (now.includes(text)) return;
    this.#box.value = now.trim() ? `${text}\n\n${now}` : text;
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
    this.#stashed = "";
    this.#box.value = "";
    this.#settle();
  }

  #submitted(event) {
    event.preventDefault();
    const text = this.#box.value.trim();
    if (!text) return;
    // Counted as the service counts: by code point, not by UTF-16 unit.
    if ([...text].length > LONGEST_MESSAGE) return this.#show(this.#tooLong);
    if (this.#pending?.text !== text) this.#pending = { key: newKey(), text };
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
    this.#problem.textContent = line;
    this.#problem.hidden = !line;
    if (line) this.#announce(line);
  }

  #concealStop() {
    // A button that vanishes under the finger takes the focus with it; it stays until the focus has moved on.
    if (this.#stop.ariaDisabled === "true" && document.activeElement !== this.#stop) this.#stop.hidden = true;
  }
}
