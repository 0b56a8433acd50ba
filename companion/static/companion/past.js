/** Reads turns over HTTP: those before what the page has, and those another tab has asked. */

/** `signedOut()` is called when the visit is over, `somebodyElse()` when it has become another person's. */
export class Past {
  #path;
  #on;

  constructor(path, on) {
    this.#path = path;
    this.#on = on;
  }

  /** Snapshots before or after a turn, oldest first; none when the service cannot be reached. */
  async read(which, conversation) {
    const response = await fetch(`${this.#path}?${new URLSearchParams(which)}`).catch(() => null);
    if (response?.status === 401) this.#on.signedOut();
    if (!response?.ok) return null;
    const answer = await response.json().catch(() => null);
    if (answer && answer.conversation !== conversation) {
      this.#on.somebodyElse();
      return null;
    }
    return answer?.turns ?? null;
  }
}
