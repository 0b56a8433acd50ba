/** Reads turns over HTTP: those before what the page has, and those another tab has asked. */

import { PAGE } from "./turn.js";

/** `signedOut()` is called when the visit is over, `somebodyElse()` when it has become another person's. */
export class Past {
  #path;
  #on;

  constructor(path, on) {
    this.#path = path;
    this.#on = on;
  }

  /** {turns, hasEarlier}: snapshots before or after a turn, oldest first; null when the service cannot be reached. */
  async read(which, conversation) {
    const response = await fetch(`${this.#path}?${new URLSearchParams(which)}`).catch(() => null);
    if (response?.status === 401) this.#on.signedOut();
    if (!response?.ok) return null;
    const answer = await response.json().catch(() => null);
    if (answer && answer.conversation !== conversation) {
      this.#on.somebodyElse();
      return null;
    }
    if (!answer?.turns) return null;
    // A service of the release before does not say whether there is more.
    return { turns: answer.turns, hasEarlier: answer.earlier ?? answer.turns.length >= PAGE };
  }
}
