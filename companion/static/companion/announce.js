/** Tells a screen reader each finished sentence and each drafted line, once, through one quiet region. */

import { Sentences } from "./sentences.js";
import { isLive } from "./turn.js";

const FORGET_AFTER_MS = 15_000;
/** A reader fetches a text some time after it hears of it: until then the text must stand. */
const STANDS_FOR_MS = 200;
/** More sentences than these are put together, so that a fast reply is not read out long after it has ended. */
const MOST_QUEUED = 4;
/** The same before a drafted line, which has to be heard at once. */
const MOST_BEFORE_A_LINE = 2;

/** Speaks through a polite live region with one child, which the next text replaces. */
export class Announcer {
  #region;
  #queue = [];
  #timer = null;
  #sentences = new Map();
  #lines = new Map();

  constructor(region) {
    this.#region = region;
  }

  /** Say a drafted line once, and at once. */
  say(line) {
    if (line) this.#add(line, MOST_BEFORE_A_LINE);
  }

  /** What a turn says that has not been said: drafted lines at once, words by the finished sentence. */
  follow(turn) {
    const sentences = this.#of(turn);
    for (const opening of turn.openings) this.#line(turn, opening.line);
    for (const sentence of sentences.next(turn.reply, !isLive(turn))) this.#add(sentence, MOST_QUEUED);
    if (turn.line) this.#line(turn, turn.line);
  }

  /** A turn that was there before: nothing of it is said, and only what it still finishes will be. */
  assume(turn) {
    if (this.#sentences.has(turn.id)) return this.follow(turn);
    const sentences = this.#of(turn);
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

  #add(text, mostBefore) {
    if (this.#queue.length > mostBefore) this.#queue = [this.#queue.join(" ")];
    this.#queue.push(text);
    if (this.#timer === null) this.#next();
  }

  #next() {
    const text = this.#queue.shift();
    if (text === undefined) return this.#rest();
    // A node of its own for each text, so that two equal sentences are two.
    const node = document.createElement("p");
    node.dir = "auto";
    node.textContent = text;
    this.#region.replaceChildren(node);
    this.#timer = setTimeout(() => this.#next(), STANDS_FOR_MS);
  }

  /** The words stand in the conversation; a reader who walks the page need not meet them twice. */
  #rest() {
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

  #line(turn, line) {
    const said = this.#lines.get(turn.id);
    if (said.has(line)) return;
    said.add(line);
    this.say(line);
  }
}
