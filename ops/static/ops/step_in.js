/** Stepping in: take over, hand back, pause, resume, release. Shows what this person can do now, and who else has it. */

import { press, say } from "./acts.js";
import { Speak } from "./speak.js";
import { textOf } from "./texts.js";

/** `box` is the section; `page` {conversation, participant, site, me, myName}. `changed()` is called when the state is. */
export class StepIn {
  #box;
  #page;
  #changed;
  #speak;
  #says;
  #state = { person: null, quiet: false, paused: null };
  #open = "";

  constructor(box, page, changed) {
    this.#box = box;
    this.#page = page;
    this.#changed = changed;
    this.#says = box.querySelector(":scope > [data-act-says]");
    this.#speak = new Speak(this.#find("speak"), page.conversation);
    box.addEventListener("click", (event) => this.#clicked(event));
    this.#find("pause-form").addEventListener("submit", (event) => this.#pause(event));
    box.addEventListener("keydown", (event) => event.key === "Escape" && this.#open && this.#show(""));
    window.addEventListener("beforeunload", (event) => this.#speak.hasWords && this.isMine && event.preventDefault());
  }

  /** Whether this person has taken over. */
  get isMine() {
    return this.#state.person?.id === this.#page.me;
  }

  get state() {
    return this.#state;
  }

  /** {person: {id, name} | null, quiet, paused: {scope} | null}: what is known now. */
  know(state) {
    const wasMine = this.isMine;
    Object.assign(this.#state, state);
    if (this.isMine && this.#open === "sure") this.#open = "";
    this.#draw();
    this.#changed();
    if (this.isMine && !wasMine) this.#speak.focus();
  }

  /** The page is connected, or not. */
  connected(isUp) {
    this.#find("away").hidden = isUp;
    if (isUp) this.#speak.resend();
  }

  #draw() {
    const { person, quiet, paused } = this.#state;
    this.#find("speak").hidden = !this.isMine;
    this.#find("take-over").hidden = Boolean(person);
    this.#find("release").hidden = !quiet || Boolean(person);
    this.#find("pauses").hidden = Boolean(paused) || this.isMine;
    this.#find("resume").hidden = paused?.scope !== "person";
    this.#find("sure").hidden = this.#open !== "sure" || Boolean(person);
    this.#find("pause-form").hidden = this.#open !== "pause-form";
    this.#find("take-over").ariaExpanded = String(this.#open === "sure");
    this.#find("pauses").ariaExpanded = String(this.#open === "pause-form");
  }

  #show(name) {
    const opener = { sure: "take-over", "pause-form": "pauses" }[name || this.#open];
    this.#open = name;
    this.#draw();
    const first = name ? this.#find(name).querySelector(name === "sure" ? "button" : "input[name=reason]") : this.#find(opener);
    first?.focus({ preventScroll: !name });
  }

  #clicked(event) {
    const button = event.target.closest("button");
    if (!button) return;
    const { conversation } = this.#page;
    const on = (name) => name in button.dataset;
    if (on("takeOver")) this.#show(this.#open === "sure" ? "" : "sure");
    else if (on("pauses")) this.#show(this.#open === "pause-form" ? "" : "pause-form");
    else if (on("notNow") || on("noPause")) this.#show("");
    else if (on("takeOverNow")) this.#takeOver(button);
    else if (on("handBack")) this.#handBack(button);
    else if (on("release")) this.#do(button, { type: "release", conversation }, { quiet: false });
    else if (on("resume")) this.#do(button, { type: "resume", scope: "person", id: this.#page.participant }, { paused: null });
  }

  async #do(button, frame, after) {
    const { done } = await press(button, frame, this.#says);
    if (done) this.know(after);
    return done;
  }

  async #takeOver(button) {
    const { conversation, me, myName } = this.#page;
    await this.#do(button, { type: "take_over", conversation }, { person: { id: me, name: myName } });
  }

  async #handBack(button) {
    if (this.#speak.hasWords) return say(this.#says, textOf("words_unsent"));
    const done = await this.#do(button, { type: "hand_back", conversation: this.#page.conversation }, { person: null });
    if (done) this.#find("take-over").focus({ preventScroll: true });
  }

  async #pause(event) {
    event.preventDefault();
    const form = event.target;
    const scope = form.elements.scope.value;
    const id = { person: this.#page.participant, site: this.#page.site, everyone: 0 }[scope];
    const frame = { type: "pause", scope, id, reason: form.elements.reason.value.trim() };
    const done = await this.#do(form.querySelector("[type=submit]"), frame, { paused: { scope } });
    if (!done) return;
    form.reset();
    this.#show("");
  }

  #find(name) {
    return this.#box.querySelector(`[data-${name}]`);
  }
}
