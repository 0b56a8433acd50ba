/** Detects a dead connection: a socket can look open for minutes after the other end has gone. */

/** Silence after which the page sends a ping: while an answer is awaited, while visible, while hidden. */
const SILENT_AWAITING_MS = 5_000;
const SILENT_SEEN_MS = 10_000;
const SILENT_UNSEEN_MS = 25_000;
const BETWEEN_PINGS_MS = 5_000;
/** The service needs frames from the page too, even while it sends many itself. */
const PING_EVERY_MS = 25_000;
const DOUBT_AFTER_MS = 4_000;
export const ANSWER_WITHIN_MS = 8_000;

/** Calls `ping()` to ask, `doubt()` after four seconds without an answer, and `lost()` when there is none. */
export class Heartbeat {
  #on;
  #next = null;
  #doubt = null;
  #deadline = null;
  #pingedAt = 0;
  #startedAt = 0;
  #awaiting = false;
  #beats = false;

  constructor(on) {
    this.#on = on;
  }

  /** Start sending pings. Before this only `expect` has a deadline. */
  start() {
    this.#beats = true;
    this.#startedAt = Date.now();
    this.#scheduleNext();
  }

  stop() {
    this.#beats = false;
    this.#clearDeadlines();
    clearTimeout(this.#next);
  }

  /** A frame has arrived, so the connection is alive. */
  noteFrame() {
    this.#clearDeadlines();
    this.#scheduleNext();
  }

  /** Call `lost()` unless a frame arrives within this time. */
  expect(withinMs) {
    this.#clearDeadlines();
    this.#deadline = setTimeout(() => this.#on.lost(), withinMs);
    if (this.#beats) this.#doubt = setTimeout(() => this.#on.doubt(), Math.min(DOUBT_AFTER_MS, withinMs));
  }

  /** Send a ping now, or as soon as five seconds have passed since the last one. */
  knock(withinMs = ANSWER_WITHIN_MS) {
    const tooSoon = BETWEEN_PINGS_MS - since(this.#pingedAt);
    if (tooSoon > 0) return this.#schedule(tooSoon, withinMs);
    this.#pingedAt = Date.now();
    this.#on.ping();
    this.expect(withinMs);
  }

  /** While an answer is awaited, silence is noticed sooner. */
  await(awaiting) {
    if (this.#awaiting === awaiting) return;
    this.#awaiting = awaiting;
    this.#scheduleNext();
  }

  #scheduleNext() {
    clearTimeout(this.#next);
    if (!this.#beats) return;
    // On a visible page the screen is lit, so the energy of a ping does not matter.
    const seen = document.visibilityState === "visible" ? SILENT_SEEN_MS : SILENT_UNSEEN_MS;
    const silent = this.#awaiting ? SILENT_AWAITING_MS : seen;
    const left = PING_EVERY_MS - since(Math.max(this.#pingedAt, this.#startedAt));
    this.#schedule(Math.max(0, Math.min(silent, left)), ANSWER_WITHIN_MS);
  }

  #schedule(ms, withinMs) {
    clearTimeout(this.#next);
    this.#next = setTimeout(() => this.knock(withinMs), ms);
  }

  #clearDeadlines() {
    clearTimeout(this.#deadline);
    clearTimeout(this.#doubt);
  }
}

/** Milliseconds by the wall clock, which goes on while a device sleeps and may be set back. */
function since(moment) {
  return Math.max(0, Date.now() - moment);
}
