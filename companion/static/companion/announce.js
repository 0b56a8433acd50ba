/** Tells a screen reader each finished sentence and each drafted line, once, through one quiet region. */

import { Sentences } from "./sentences.js";
import { isLive } from "./turn.js";

const FORGET_AFTER_MS = 15_000;

/** Speaks through a polite live region that holds nothing for long: the words stand in the conversation. */
export class Announcer {
  #region;
  #sentences = new Map();
  #lines = new Map();

  constructor(region) {
    this.#region = region;
  }

  /** Say a text once. Each is a node of its own, so that nothing is read twice. */
  say(text) {
    if (!text) return;
    const node = document.createElement("p");
    node.textContent = text;
    this.#region.append(node);
    setTimeout(() => node.remove(), FORGET_AFTER_MS);
  }

  /** What a turn says that has not been said: drafted lines at once, words by the finished sentence. */
  follow(turn) {
    const sentences = this.#of(turn);
    for (const opening of turn.openings) this.#line(turn, opening.line);
    for (const sentence of sentences.next(turn.reply, !isLive(turn))) this.say(sentence);
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
    this.#region.replaceChildren();
    this.#sentences.clear();
    this.#lines.clear();
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
