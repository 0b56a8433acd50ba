/** The connection to the service: connects, keeps alive, detects a dead socket, and reconnects. */

import { waitBefore } from "./backoff.js";
import { ANSWER_WITHIN_MS, Heartbeat } from "./heartbeat.js";

const ANSWER_AFTER_WAKING_MS = 3_000;
const HELLO_WITHIN_MS = 12_000;
const BRAKE_MS = 10_000;

const SIGNED_OUT = 4401;
const NOT_ALLOWED = 4403;
const TOO_FAR_BEHIND = 4408;
const TOO_LARGE = [1009, 4413];
const COME_BACK = 4503;

/**
 * One socket at a time. Calls `frame(data)`, `up()` once hello is there, `down(comingBack)` when it is lost,
 * `doubt(silent)` when it has been silent for too long, or may be, `sure()` when it speaks again, and `tooLarge()`,
 * `signedOut(reason)` and `notAllowed()` for what the service says by closing it: those of them that are given.
 */
export class Connection {
  #path;
  #on;
  #socket = null;
  #attempt = 0;
  #again = null;
  #beat;
  #inDoubt = false;
  #behindAt = 0;
  #wanted = false;
  #overBecause = "";
  isUp = false;

  constructor(path, on) {
    this.#path = path;
    this.#on = on;
    this.#beat = new Heartbeat({
      ping: () => this.send({ type: "ping" }),
      doubt: () => this.#reportDoubt(true),
      lost: () => this.#reconnect(),
    });
  }

  open() {
    this.#wanted = true;
    if (!this.#socket) this.#connect();
  }

  /** Close the socket and do not reconnect until `open`. */
  close() {
    this.#wanted = false;
    this.#drop();
  }

  /** Send a frame if the connection is up; returns whether it was sent. */
  send(frame) {
    if (!this.isUp || this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Send a frame that is always answered. Without an answer within some seconds the connection counts as lost. */
  ask(frame) {
    const sent = this.send(frame);
    if (sent) this.#beat.expect(ANSWER_WITHIN_MS);
    return sent;
  }

  /** The device woke up or is online again: reconnect now, or check an open connection. */
  wake() {
    if (!this.#wanted) return;
    if (!this.#socket) this.#connect();
    else if (this.isUp) this.#beat.knock(ANSWER_AFTER_WAKING_MS);
  }

  /** The device says it is offline. A service on the local network may still answer, so the connection is checked. */
  unplugged() {
    if (!this.isUp) return;
    this.#reportDoubt(false);
    this.#beat.knock(ANSWER_AFTER_WAKING_MS);
  }

  /** While an answer is awaited, silence is noticed sooner. */
  await(awaiting) {
    this.#beat.await(awaiting);
  }

  #connect() {
    clearTimeout(this.#again);
    const address = new URL(this.#path, window.location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.onmessage = (event) => socket === this.#socket && this.#onMessage(event.data);
    socket.onclose = (event) => socket === this.#socket && this.#onClose(event.code);
    this.#beat.expect(HELLO_WITHIN_MS);
  }

  #onMessage(data) {
    this.#beat.noteFrame();
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      return this.#reconnect();
    }
    if (frame.type === "hello") this.#onHello();
    if (frame.type === "over") this.#overBecause = frame.reason;
    if (this.#inDoubt) this.#on.sure?.();
    this.#inDoubt = false;
    this.#on.frame?.(frame);
    if (frame.type === "hello") this.#on.up?.();
  }

  #onHello() {
    this.isUp = true;
    this.#attempt = 0;
    this.#beat.start();
  }

  /** Report silence before the connection is given up, which takes longer. */
  #reportDoubt(silent) {
    if (!this.isUp) return;
    this.#inDoubt = true;
    this.#on.doubt?.(silent);
  }

  #reconnect() {
    this.#drop();
    this.#comeBack(waitBefore(this.#attempt++), false);
  }

  #onClose(code) {
    this.#drop();
    if (code === SIGNED_OUT) {
      this.#wanted = false;
      this.#on.signedOut?.(this.#overBecause);
    } else if (code === NOT_ALLOWED) {
      this.#on.notAllowed?.();
    } else if (code === TOO_FAR_BEHIND) {
      this.#comeBack(this.#brake(), false);
    } else if (TOO_LARGE.includes(code)) {
      this.#on.tooLarge?.();
      this.#comeBack(waitBefore(this.#attempt++), false);
    } else {
      const sentAway = code === COME_BACK;
      // A process that leaves closes its sockets a few at a time, so a second is enough to spread reconnects.
      if (sentAway) this.#attempt = Math.max(this.#attempt, 1);
      this.#comeBack(waitBefore(this.#attempt++), sentAway);
    }
  }

  /** Zero for a first time, then with backoff. */
  #brake() {
    const again = Date.now() - this.#behindAt < BRAKE_MS;
    this.#behindAt = Date.now();
    return again ? waitBefore(Math.max(3, this.#attempt++)) : 0;
  }

  #comeBack(waitMs, announced) {
    this.#on.down?.(announced);
    if (this.#wanted) this.#again = setTimeout(() => this.#connect(), waitMs);
  }

  #drop() {
    clearTimeout(this.#again);
    this.#beat.stop();
    this.#inDoubt = false;
    const socket = this.#socket;
    this.#socket = null;
    this.isUp = false;
    socket?.close();
  }
}
