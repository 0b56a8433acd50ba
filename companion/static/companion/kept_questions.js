/** Offers kept questions one at a time: to ask again or to let go. */

import { newKey } from "./keys.js";

/** `send(frame)` says whether it was sent. */
export class KeptQuestions {
  #box;
  #send;
  #announce;
  #place;
  #view;
  #offers = [];
  #pending = null;
  #isAside = false;
  #announced = new Set();

  constructor({ box, send, announce, place, view }) {
    this.#box = box;
    this.#send = send;
    this.#announce = announce;
    this.#place = place;
    this.#view = view;
    this.#part("ask-again").addEventListener("click", () => this.#askAgain());
    this.#part("let-go").addEventListener("click", () => this.#letGo());
  }

  /** Handle a frame; returns whether it was about kept questions alone. */
  handle(frame) {
    if (frame.type === "hello") this.#restore(frame.conversation.kept ?? []);
    else if (frame.type === "kept") this.#show(frame.questions);
    else if (frame.code === "not_now") this.#showProblem(frame.line);
    else return false;
    return frame.type !== "hello";
  }

  /** Return the question of the turn with this key; null if it was not asked again on this page. */
  confirm(key) {
    if (this.#pending?.frame.key !== key) return null;
    const { question, frame } = this.#pending;
    this.#show(this.#offers.filter((offer) => offer.turn !== frame.turn));
    return question;
  }

  /** Hide the offer while a reply is live. */
  standAside(isLive) {
    if (this.#isAside === isLive) return;
    this.#isAside = isLive;
    this.#show(this.#offers);
  }

  /** The offer on the page; null while there is none. */
  get shown() {
    return this.#box.hidden ? null : this.#box;
  }

  clear() {
    this.#pending = null;
    this.#announced.clear();
    this.#offers = [];
    this.#draw();
  }

  /** Send the pending press again under the same key, after a reconnect. */
  #restore(offers) {
    const { frame } = this.#pending ?? {};
    this.#show(offers);
    if (this.#pending) this.#send(frame);
  }

  #show(offers) {
    this.#offers = offers;
    if (!offers.some((offer) => offer.turn === this.#pending?.frame.turn)) this.#pending = null;
    this.#place.during(
      () => this.#draw(),
      () => this.#reading(),
    );
  }

  /** Where reading starts: the offer is below the newest answer, which must stay visible. */
  #reading() {
    const newest = this.#view.newest();
    const isOffered = !this.#box.hidden && newest && !newest.answer.hidden;
    return isOffered ? { question: newest.answer, answer: newest.answer } : newest;
  }

  /** Show that it cannot be asked now. The question stays. */
  #showProblem(line) {
    this.#pending = null;
    this.#place.during(
      () => {
        this.#draw();
        this.#say("problem", line);
      },
      () => this.#reading(),
    );
    this.#announce(line);
  }

  #askAgain() {
    this.#press((turn) => ({ type: "ask_again", turn, key: newKey() }));
  }

  #letGo() {
    this.#press((turn) => ({ type: "let_go", turn }));
  }

  #press(frameFor) {
    const [offer] = this.#offers;
    if (!offer || this.#pending) return;
    const frame = frameFor(offer.turn);
    if (!this.#send(frame)) return;
    this.#pending = { frame, question: offer.question };
    this.#draw();
  }

  #draw() {
    const [offer] = this.#isAside ? [] : this.#offers;
    const wasFocused = this.#box.contains(document.activeElement);
    this.#say("problem", "");
    this.#say("line", offer?.line ?? "");
    this.#say("question", offer?.question ?? "");
    for (const name of ["ask-again", "let-go"]) this.#part(name).ariaDisabled = this.#pending ? "true" : null;
    this.#box.hidden = !offer;
    // The focused button is hidden, so the focus moves to the message box.
    if (!offer && wasFocused) document.querySelector("[data-composer] textarea").focus({ preventScroll: true });
    if (offer && !this.#announced.has(offer.turn)) {
      this.#announced.add(offer.turn);
      this.#announce(offer.line);
    }
  }

  #say(name, text) {
    const node = this.#part(name);
    const words = node.querySelector("[data-words]") ?? node;
    if (words.textContent !== text) words.textContent = text;
    node.hidden = !text;
  }

  #part(name) {
    return this.#box.querySelector(`[data-kept-${name}]`);
  }
}
