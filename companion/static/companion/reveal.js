/** What of a reply is shown: all of it as it comes, all of it when it is complete, or its words at a reading pace. */

import { isLive } from "./turn.js";

/** About 140 words a minute. */
const CHARS_PER_MS = 0.014;
/** However fast words come, each is shown at most this much later. */
const MAX_BEHIND_MS = 60_000;
/** Words that come within this time count as one piece. */
const PIECE_MS = 500;
const STEP_MS = 120;
/** In these states the words that were said stand. In every other end nothing more is shown after it. */
const STANDS = new Set(["complete", "stopped"]);

/**
 * `look` says how replies come. `again(id)` is called when more of a turn is due to be shown. `stillHere` is the drafted
 * line that stands in for the words of a whole message after `stillHereMs`. `now()` is a time in milliseconds.
 */
export class Reveal {
  #look;
  #again;
  #stillHere;
  #stillHereMs;
  #now;
  #known = new Map();

  constructor({ look, again, stillHere, stillHereMs, now = () => performance.now() }) {
    this.#look = look;
    this.#again = again;
    this.#stillHere = stillHere;
    this.#stillHereMs = stillHereMs;
    this.#now = now;
  }

  /** The turn or entry as it is shown now. The first call shows all that a turn has, unless it comes as a whole. */
  of(item) {
    if (item.entry) return item;
    if (!this.#known.has(item.id)) this.#meet(item);
    if (this.#look.isWhole) return this.#whole(item);
    if (this.#look.isSlow) return this.#slow(item);
    this.#known.get(item.id).length = item.reply.length;
    return item;
  }

  /** Whether words have come that are not shown yet, because they are shown slowly. */
  get isBehind() {
    return this.#look.isSlow && [...this.#known.values()].some((known) => known.isBehind);
  }

  /** Show everything that has come. */
  showAll() {
    for (const [id, known] of this.#known) {
      if (!known.isBehind) continue;
      known.length = Infinity;
      this.#again(id);
    }
  }

  /** Show nothing more by itself. */
  pause() {
    for (const known of this.#known.values()) clearTimeout(known.timer);
  }

  #meet({ id, reply }) {
    this.#known.set(id, { since: this.#now(), at: this.#now(), length: reply.length, came: [] });
  }

  #whole(turn) {
    const known = this.#known.get(turn.id);
    known.length = turn.reply.length;
    if (!isLive(turn)) {
      clearTimeout(known.timer);
      return STANDS.has(turn.state) ? turn : { ...turn, reply: "", openings: disclosed(turn) };
    }
    const shown = { ...turn, reply: "", openings: disclosed(turn) };
    if (turn.line) Object.assign(known, { line: { line: turn.line, kind: turn.kind }, since: this.#now() });
    else if (this.#now() - known.since >= this.#stillHereMs) known.line = { line: this.#stillHere, kind: "still_here" };
    else this.#callAgain(turn.id, known, known.since + this.#stillHereMs - this.#now());
    // The line of the waiting room is over when words come; that he is still there holds until they are shown.
    const stands = known.line?.kind === "still_here" || turn.state === "waiting";
    return stands && known.line ? { ...shown, ...known.line } : shown;
  }

  #slow(turn) {
    const known = this.#known.get(turn.id);
    const { reply } = turn;
    if (turn.state === "stopped" || turn.state === "paused") known.length = reply.length;
    else if (STANDS.has(turn.state) || isLive(turn)) this.#walk(known, reply);
    known.length = Math.min(known.length, reply.length);
    known.at = this.#now();
    known.isBehind = known.length < reply.length && (STANDS.has(turn.state) || isLive(turn));
    if (known.length === reply.length) return turn;
    if (known.isBehind) this.#callAgain(turn.id, known, STEP_MS);
    const shown = { ...turn, reply: reply.slice(0, wordEnd(reply, known.length)) };
    // Until its last word is shown, a complete reply is one that still comes.
    return turn.state === "complete" ? { ...shown, state: "speaking", line: "" } : shown;
  }

  /** Walk on by the time since the last step: at the reading pace, or as fast as the oldest words require. */
  #walk(known, reply) {
    const now = this.#now();
    const last = known.came.at(-1);
    if (last && now - last.at < PIECE_MS) last.length = reply.length;
    else if (reply.length > (last?.length ?? 0)) known.came.push({ at: now, length: reply.length });
    known.came = known.came.filter((piece) => piece.length > known.length);
    const due = known.came.map((piece) => (piece.length - known.length) / Math.max(1, piece.at + MAX_BEHIND_MS - known.at));
    known.length = Math.min(reply.length, known.length + (now - known.at) * Math.max(CHARS_PER_MS, ...due));
  }

  #callAgain(id, known, ms) {
    clearTimeout(known.timer);
    known.timer = setTimeout(() => this.#again(id), Math.max(0, ms));
  }
}

/** That this is a computer program is said before the reply; what else opens it comes with its words. */
function disclosed(turn) {
  return turn.openings.filter((opening) => opening.kind === "disclosure");
}

/** The end of the last whole word in the first `length` letters; within a word of many letters, that length. */
function wordEnd(text, length) {
  const part = text.slice(0, Math.floor(length));
  const end = part.search(/\s\S{0,40}$/u);
  // A pair of surrogates is one letter.
  return end >= 0 ? end : part.length > 40 ? part.length - (/[\ud800-\udbff]$/.test(part) ? 1 : 0) : 0;
}
