/** The state of the conversation. Pure: frames in, changes and requests out; no DOM, socket or clock. */

import { Entries, partItems } from "./entries.js";
import { STEPS } from "./steps.js";
import { isLive, createTurn } from "./turn.js";

/** Chunks between two acknowledgements; the server waits for one after 200. */
const CHUNKS_PER_ACK = 10;

/** The frame that asks for what comes after what is here. */
export function catchUpOn(turn) {
  return { type: "catch_up", turn: turn.id, after: turn.seq };
}

/** The turns of one conversation, by id. `apply` and `merge` return {changed, gone, wishes}. */
export class Turns {
  #byId = new Map();
  #lines;
  #asked = new Map();
  #acknowledged = new Map();
  /** What stands beside the turns. */
  entries = new Entries();
  /** Whether the service knows frames about entries. */
  asksForEntries = false;
  hasEarlier = false;

  /** `lines` are the drafted lines that no frame carries: {stopped}. */
  constructor(lines) {
    this.#lines = lines;
  }

  /** All turns, oldest first. */
  all() {
    return [...this.#byId.values()].sort((a, b) => a.id - b.id);
  }

  get(id) {
    return this.#byId.get(id);
  }

  /** The turn or the entry of this id. */
  item(id) {
    return this.#byId.get(id) ?? this.entries.get(id);
  }

  /** All turns and entries. */
  items() {
    return [...this.all(), ...this.entries.all()];
  }

  ofKey(key) {
    return this.all().find((turn) => turn.key === key);
  }

  /** The turn that Stop ends: the first live one. */
  firstLive() {
    return this.all().find(isLive);
  }

  /** Apply a frame about turns. Other frames change nothing. */
  apply(frame) {
    const news = { changed: new Set(), gone: new Set(), wishes: [] };
    const step = STEPS[frame.type];
    if (step) step(this, frame, news);
    return news;
  }

  /** Add the turn of a message that this page sent. */
  begin(id, key, question) {
    if (!this.#byId.has(id)) this.#byId.set(id, createTurn(id));
    const turn = this.#byId.get(id);
    turn.key = key;
    turn.question ??= question;
    return turn;
  }

  /** Add items read over HTTP, which may be older than the frames received since. They follow turn `after`. */
  merge(items, after = 0) {
    const news = { changed: new Set(), gone: new Set(), wishes: [] };
    const { turns, entries } = partItems(items, after);
    for (const entry of entries) this.entries.add(entry, news);
    for (const snapshot of turns) {
      const known = this.#byId.get(snapshot.id);
      if (known && !isLive(known) && isLive(snapshot)) {
        Object.assign(known, { key: snapshot.key, question: snapshot.question });
        news.changed.add(known.id);
      } else this.settle(snapshot, news);
    }
    return news;
  }

  /** Return the frames that request what may have been missed: of live turns, and beside the turns. */
  catchUp() {
    this.#asked.clear();
    const frames = this.all().filter(isLive).map(catchUpOn);
    if (this.asksForEntries) frames.unshift({ type: "catch_up", entry: this.entries.all().at(-1)?.entry ?? 0 });
    return frames;
  }

  /** The turns whose requested chunks have not arrived. */
  missing() {
    return this.all().filter((turn) => isLive(turn) && this.#asked.get(turn.id) === turn.seq);
  }

  settle(snapshot, news) {
    const known = this.#byId.get(snapshot.id);
    const turn = { ...snapshot, openings: [...snapshot.openings] };
    if (known && known.reply && (turn.state === "paused" || known.seq > turn.seq)) {
      // Words that are on the page are not removed.
      Object.assign(turn, { reply: known.reply, openings: known.openings, seq: Math.max(known.seq, turn.seq) });
    }
    turn.line ||= this.#lines[turn.state] ?? "";
    turn.unread ??= turn.state === "refused";
    this.#byId.set(turn.id, turn);
    this.#asked.delete(turn.id);
    news.changed.add(turn.id);
  }

  end(turn, state, line) {
    Object.assign(turn, { state, line: line || this.#lines[state] || "" });
  }

  forget(id, news) {
    this.#byId.delete(id);
    news.gone.add(id);
  }

  /** The turn of a frame. An unknown one was asked in another tab, so its question is fetched. */
  of(frame, news) {
    if (!this.#byId.has(frame.turn)) {
      const before = this.all().filter((turn) => turn.id < frame.turn && turn.question !== null).at(-1);
      this.#byId.set(frame.turn, createTurn(frame.turn));
      news.wishes.push({ type: "fetch", after: before ? before.id : 0 });
    }
    return this.#byId.get(frame.turn);
  }

  /** Request once the chunks before the one that has arrived. */
  miss(turn, news) {
    if (this.#asked.get(turn.id) === turn.seq) return;
    this.#asked.set(turn.id, turn.seq);
    news.wishes.push(catchUpOn(turn));
  }

  acknowledge(turn, news, { now = false } = {}) {
    const last = this.#acknowledged.get(turn.id) ?? 0;
    if (turn.seq - last < (now ? 1 : CHUNKS_PER_ACK)) return;
    this.#acknowledged.set(turn.id, turn.seq);
    news.wishes.push({ type: "ack", turn: turn.id, seq: turn.seq });
  }

  resetAcknowledged() {
    this.#acknowledged.clear();
  }
}
