/** *Talk to a person*: asks over the socket, and over HTTP while there is none, until an answer shows that it arrived. */

import { waitBefore } from "./backoff.js";
import { request } from "./request.js";

/** The service words its answer within a second. */
const SOCKET_WITHIN_MS = 2_500;
const ANSWER_WITHIN_MS = 4_000;
const POST_WITHIN_MS = 6_000;
/** For so long the service answers a second press with the same line. */
const SAME_ANSWER_MS = 5_000;

/**
 * `line` is the drafted line for a press that has not arrived yet. `connection` sends frames, `place` keeps what
 * is read where it is. `answered()` is called once the answer is in the conversation, `signedOut()` when
 * the visit is over.
 */
export class Help {
  #form;
  #box;
  #notSent;
  #connection;
  #announce;
  #place;
  #on;
  #newest = null;
  #isKnown = false;
  #asking = null;
  #answer = "";
  #answeredAt = 0;
  #wake = () => {};

  constructor({ form, line, connection, announce, place, answered, signedOut }) {
    this.#form = form;
    this.#box = form.querySelector("[data-help-line]");
    this.#notSent = line;
    this.#connection = connection;
    this.#announce = announce;
    this.#place = place;
    this.#on = { answered, signedOut };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (Date.now() - this.#answeredAt < SAME_ANSWER_MS) this.#on.answered();
      else if (!this.#asking) this.#ask();
    });
    window.addEventListener("pagehide", () => this.#sendLast());
  }

  /** Read from a frame whether the press has arrived. Call it when the conversation holds the frame. */
  apply(frame) {
    if (frame.type === "hello") this.#greet(frame.conversation);
    else if (frame.type === "help") this.#arrived(frame.id);
  }

  /** Whether this line was announced when HTTP answered, before it came into the conversation. */
  hasAnnounced(item) {
    return item.kind === "help" && item.text === this.#answer;
  }

  /** Show no line: the page is left, or emptied. */
  clear() {
    this.#box.hidden = true;
    this.#box.querySelector("[data-words]").textContent = "";
  }

  /** Ask no more. A press that has not arrived is sent a last time. */
  shut() {
    this.#sendLast();
    this.#stop();
    this.clear();
  }

  #greet(conversation) {
    // The previous release does not send `quiet`, and does not know the frame.
    this.#isKnown = "quiet" in conversation;
    const entries = conversation.turns.filter((item) => item.entry);
    const since = this.#asking?.since ?? null;
    const newest = Math.max(0, ...entries.map((item) => item.entry));
    // Without an earlier hello an answer cannot be told from that to a press of another day.
    const answer = entries.find((item) => item.kind === "help" && since !== null && item.entry > since);
    this.#newest = Math.max(this.#newest ?? 0, newest);
    if (answer) return this.#arrived(answer.entry);
    if (!this.#asking) this.#show("");
    this.#wake();
  }

  #arrived(entry) {
    this.#newest = Math.max(this.#newest ?? 0, entry);
    const wasAsked = this.#asking !== null;
    this.#stop();
    this.#show("");
    this.#answeredAt = Date.now();
    if (wasAsked) this.#on.answered();
  }

  async #ask() {
    const asking = { since: this.#newest };
    this.#asking = asking;
    this.#answer = "";
    this.#form.ariaBusy = "true";
    const lateness = setTimeout(() => this.#asking === asking && this.#say(this.#notSent), ANSWER_WITHIN_MS);
    for (let attempt = 0; this.#asking === asking; attempt++) {
      // A socket may look alive and carry nothing, so the other way is tried in turn.
      const isSent = attempt % 2 === 0 && this.#isKnown && this.#connection.send({ type: "help" });
      if (isSent) await this.#sleep(SOCKET_WITHIN_MS);
      else if (!(await this.#post(asking))) await this.#sleep(waitBefore(attempt));
    }
    clearTimeout(lateness);
  }

  /** Ask over HTTP; returns whether asking is over. */
  async #post(asking) {
    const answer = await request(this.#form.action, { method: "POST", body: this.#facts(), withinMs: POST_WITHIN_MS });
    if (this.#asking !== asking) return true;
    if (answer?.problem === "signed_out") this.#on.signedOut(answer.reason);
    if (answer?.line && typeof answer.line === "string") {
      this.#stop();
      this.#answer = answer.line;
      this.#say(answer.line);
    }
    return this.#asking !== asking;
  }

  #stop() {
    this.#asking = null;
    this.#form.ariaBusy = null;
    this.#wake();
  }

  /** The browser delivers this even when the page is closed meanwhile. */
  #sendLast() {
    if (this.#asking) navigator.sendBeacon(this.#form.action, this.#facts());
  }

  #facts() {
    return new URLSearchParams(new FormData(this.#form));
  }

  /** Wait so long, or until `#wake()`. */
  #sleep(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #say(line) {
    this.#show(line);
    this.#announce(line);
  }

  #show(line) {
    const words = this.#box.querySelector("[data-words]");
    if (words.textContent === line) return;
    this.#place.keeping(() => {
      words.textContent = line;
      this.#box.hidden = !line;
    });
  }
}
