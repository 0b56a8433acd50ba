/** Reads turns over HTTP: earlier ones, and those that another tab has asked. */

import { request } from "./request.js";
import { PAGE } from "./turn.js";

/** `signedOut(reason)` is called when the visit is over, `visitReplaced()` when the session is another participant's. */
export class HistoryReader {
  #path;
  #on;

  constructor(path, on) {
    this.#path = path;
    this.#on = on;
  }

  /** {turns, hasEarlier}: turns and entries before or after a turn, oldest first; null when the service is away. */
  async read(which, conversation) {
    const answer = await request(`${this.#path}?${new URLSearchParams(which)}`);
    if (answer?.problem === "signed_out") this.#on.signedOut(answer.reason);
    if (!answer?.turns) return null;
    if (answer.conversation !== conversation) {
      this.#on.visitReplaced();
      return null;
    }
    // The previous release does not send `earlier`.
    return { turns: answer.turns, hasEarlier: answer.earlier ?? answer.turns.length >= PAGE };
  }
}
