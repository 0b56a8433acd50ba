/** Announces each finished sentence and each drafted line to screen readers, once, through one live region. */

import { Sentences } from "./sentences.js";
import { isLive } from "./turn.js";

const FORGET_AFTER_MS = 15_000;
/** A screen reader fetches a text some time after the event, so the text must stay until then. */
const STANDS_FOR_MS = 200;
/** Longer queues are joined into one text, so that a fast reply is not read out long after its end. */
const MOST_QUEUED = 4;
/** The same limit ahead of a drafted line, which must be heard soon. */
const MOST_BEFORE_A_LINE = 2;

/** Speaks through a polite live region with one child, which the next text replaces. */
export class Announcer {
  #region;
  #hear;
  #queue = [];
  #timer = null;
  #sentences = new Map();
  #lines = new Map();

  /** `hear(text, id)` is told each text as well, with the turn or entry that it is of; null: of none. */
  constructor(region, hear = () => {}) {
    this.#region = region;
    this.#hear = hear;
  }

  /** Say a drafted line once, and at once. */
  say(line, id = null) {
    if (line) this.#add(line, MOST_BEFORE_A_LINE, id);
  }

  /** Announce what is new in a turn: drafted lines at once, words by the finished sentence. An entry once, whole. */
  follow(turn) {
    const sentences = this.#of(turn);
    if (turn.entry) return this.#sayOnce(turn, spoken(turn));
    for (const opening of turn.openings) this.#sayOnce(turn, opening.line);
    for (const sentence of sentences.next(turn.reply, !isLive(turn))) this.#add(sentence, MOST_QUEUED, turn.id);
    if (turn.line) this.#sayOnce(turn, turn.line);
  }

  /** Treat the present text of a turn as announced; only what is added later is announced. */
  assume(turn) {
    if (this.#sentences.has(turn.id)) return this.follow(turn);
    const sentences = this.#of(turn);
    if (turn.entry) return void this.#lines.get(turn.id).add(spoken(turn));
    if (isLive(turn)) sentences.skip(turn.reply);
    else sentences.next(turn.reply, true);
    const lines = this.#lines.get(turn.id);
    for (const opening of turn.openings) lines.add(opening.line);
    lines.add(turn.line);
  }

  silence() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#queue = [];
    this.#region.replaceChildren();
    this.#sentences.clear();
    this.#lines.clear();
  }

  #add(text, mostBefore, id) {
    this.#hear(text, id);
    if (this.#queue.length > mostBefore) this.#queue = [this.#queue.join(" ")];
    this.#queue.push(text);
    if (this.#timer === null) this.#next();
  }

  #next() {
    const text = this.#queue.shift();
    if (text === undefined) return this.#removeLast();
    // A node of its own for each text, so that two equal sentences are two.
    const node = document.createElement("p");
    node.dir = "auto";
    node.textContent = text;
    this.#region.replaceChildren(node);
    this.#timer = setTimeout(() => this.#next(), STANDS_FOR_MS);
  }

  /** Remove the last text after a while: it is in the conversation too, and would be read twice there. */
  #removeLast() {
    this.#timer = null;
    const last = this.#region.firstElementChild;
    setTimeout(() => last?.remove(), FORGET_AFTER_MS);
  }

  #of(turn) {
    if (!this.#sentences.has(turn.id)) {
      this.#sentences.set(turn.id, new Sentences());
      this.#lines.set(turn.id, new Set());
    }
    return this.#sentences.get(turn.id);
  }

  #sayOnce(turn, line) {
    const said = this.#lines.get(turn.id);
    if (said.has(line)) return;
    said.add(line);
    this.say(line, turn.id);
  }
}

/** What is read out of an entry: a person's words begin with the name. */
function spoken({ kind, name, text }) {
  return kind === "said" ? `${name}: ${text}` : text;
}
