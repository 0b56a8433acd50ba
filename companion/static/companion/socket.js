/** The line to the service: connects, keeps alive, notices when it is dead, and comes back. */

import { waitBefore } from "./backoff.js";

const PING_EVERY_MS = 25_000;
const ANSWER_WITHIN_MS = 8_000;
const ANSWER_AFTER_WAKING_MS = 3_000;
const HELLO_WITHIN_MS = 12_000;

const SIGNED_OUT = 4401;
const NOT_ALLOWED = 4403;
const TOO_FAR_BEHIND = 4408;
const COME_BACK = 4503;

/**
 * One socket at a time. Calls `frame(data)`, `up()` once hello is there, `down(comingBack)` when it is lost,
 * `signedOut()` and `notAllowed()`.
 */
export class Line {
  #path;
  #on;
  #socket = null;
  #attempt = 0;
  #again = null;
  #ping = null;
  #deadline = null;
  #wanted = false;
  isUp = false;

  constructor(path, on) {
    this.#path = path;
    this.#on = on;
  }

  open() {
    this.#wanted = true;
    if (!this.#socket) this.#connect();
  }

  /** Let go of the line and do not come back until `open`. */
  close() {
    this.#wanted = false;
    this.#drop();
  }

  /** Send a frame if the line is up; whether it was sent. */
  send(frame) {
    if (!this.isUp || this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Send a frame that is always answered; no answer within a few seconds means the line is dead. */
  ask(frame) {
    const sent = this.send(frame);
    if (sent) this.#answerWithin(ANSWER_WITHIN_MS);
    return sent;
  }

  /** The device woke up or came back online: a waiting attempt is made now, an open line has to answer soon. */
  wake() {
    if (!this.#wanted) return;
    if (!this.#socket) this.#connect();
    else if (this.isUp) this.#knock(ANSWER_AFTER_WAKING_MS);
  }

  #connect() {
    clearTimeout(this.#again);
    const address = new URL(this.#path, window.location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.onmessage = (event) => socket === this.#socket && this.#heard(event.data);
    socket.onclose = (event) => socket === this.#socket && this.#closed(event.code);
    this.#answerWithin(HELLO_WITHIN_MS);
  }

  #heard(data) {
    clearTimeout(this.#deadline);
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      return this.#lost();
    }
    if (frame.type === "hello") this.#greeted();
    this.#on.frame(frame);
    if (frame.type === "hello") this.#on.up();
  }

  #greeted() {
    this.isUp = true;
    this.#attempt = 0;
    clearInterval(this.#ping);
    this.#ping = setInterval(() => this.#knock(ANSWER_WITHIN_MS), PING_EVERY_MS);
  }

  #knock(withinMs) {
    this.send({ type: "ping" });
    this.#answerWithin(withinMs);
  }

  #answerWithin(ms) {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#lost(), ms);
  }

  /** No answer: a socket can look open for many minutes after the other end has gone. */
  #lost() {
    this.#drop();
    this.#comeBack(waitBefore(this.#attempt++), false);
  }

  #closed(code) {
    this.#drop();
    if (code === SIGNED_OUT) {
      this.#wanted = false;
      this.#on.signedOut();
    } else if (code === NOT_ALLOWED) {
      this.#on.notAllowed();
    } else if (code === TOO_FAR_BEHIND) {
      this.#comeBack(0, false);
    } else {
      const sentAway = code === COME_BACK;
      // Everybody in the house was sent away at the same moment; they spread over two seconds at least.
      if (sentAway) this.#attempt = Math.max(this.#attempt, 2);
      this.#comeBack(waitBefore(this.#attempt++), sentAway);
    }
  }

  #comeBack(waitMs, announced) {
    this.#on.down(announced);
    if (this.#wanted) this.#again = setTimeout(() => this.#connect(), waitMs);
  }

  #drop() {
    clearTimeout(this.#again);
    clearTimeout(this.#deadline);
    clearInterval(this.#ping);
    const socket = this.#socket;
    this.#socket = null;
    this.isUp = false;
    socket?.close();
  }
}
