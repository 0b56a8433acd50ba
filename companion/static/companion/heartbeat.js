/** Notices when the other end of a line has fallen silent: a socket can look open for minutes after it has gone. */

/** Silence after which the page asks whether the line is there: while an answer is awaited, in sight, out of sight. */
const SILENT_AWAITING_MS = 5_000;
const SILENT_SEEN_MS = 10_000;
const SILENT_UNSEEN_MS = 25_000;
const BETWEEN_PINGS_MS = 5_000;
/** The other end needs a sign of life as well, however much it says itself. */
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

  /** Begin to ask by itself; before, only what is expected counts. */
  start() {
    this.#beats = true;
    this.#startedAt = Date.now();
    this.#later();
  }

  stop() {
    this.#beats = false;
    this.#rest();
    clearTimeout(this.#next);
  }

  /** A frame has come: the line is there. */
  heard() {
    this.#rest();
    this.#later();
  }

  /** A frame has to come within this time. */
  expect(withinMs) {
    this.#rest();
    this.#deadline = setTimeout(() => this.#on.lost(), withinMs);
    if (this.#beats) this.#doubt = setTimeout(() => this.#on.doubt(), Math.min(DOUBT_AFTER_MS, withinMs));
  }

  /** Ask now, or as soon as there are five seconds between two pings. */
  knock(withinMs = ANSWER_WITHIN_MS) {
    const tooSoon = BETWEEN_PINGS_MS - since(this.#pingedAt);
    if (tooSoon > 0) return this.#at(tooSoon, withinMs);
    this.#pingedAt = Date.now();
    this.#on.ping();
    this.expect(withinMs);
  }

  /** Whether an answer is awaited: then silence is noticed sooner. */
  await(awaiting) {
    if (this.#awaiting === awaiting) return;
    this.#awaiting = awaiting;
    this.#later();
  }

  #later() {
    clearTimeout(this.#next);
    if (!this.#beats) return;
    // A page in sight has a lit screen, beside which a ping costs nothing.
    const seen = document.visibilityState === "visible" ? SILENT_SEEN_MS : SILENT_UNSEEN_MS;
    const silent = this.#awaiting ? SILENT_AWAITING_MS : seen;
    const left = PING_EVERY_MS - since(Math.max(this.#pingedAt, this.#startedAt));
    this.#at(Math.max(0, Math.min(silent, left)), ANSWER_WITHIN_MS);
  }

  #at(ms, withinMs) {
    clearTimeout(this.#next);
    this.#next = setTimeout(() => this.knock(withinMs), ms);
  }

  #rest() {
    clearTimeout(this.#deadline);
    clearTimeout(this.#doubt);
  }
}

/** Milliseconds by the clock that goes on while a device sleeps; it may be set back. */
function since(moment) {
  return Math.max(0, Date.now() - moment);
}
