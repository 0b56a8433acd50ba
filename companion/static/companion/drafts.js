/** Keeps the words that are typed and not sent on the service, for the same person's next visit. Nothing is kept here. */

const PAUSE_MS = 1_000;
const AT_LATEST_MS = 10_000;
/** UTF-16 units. The browser lets a page that is being left send 64 KiB, and this always fits. */
const LONGEST_DRAFT = 16_000;

/**
 * `composer` has the words. `offered` says that an earlier visit has left some; `somebodyElse()` is called when the visit
 * has become another person's.
 */
export class Drafts {
  #path;
  #form;
  #offered;
  #composer;
  #somebodyElse;
  #conversation = null;
  #kept = "";
  #timer = null;
  #changedAt = null;
  #sending = null;

  constructor({ path, form, offered, composer, somebodyElse }) {
    this.#path = path;
    this.#form = form;
    this.#offered = offered;
    this.#composer = composer;
    this.#somebodyElse = somebodyElse;
  }

  /** It is known whose page this is: from here on words are kept, and those of an earlier visit come back, once. */
  async open(conversation) {
    this.#conversation = conversation;
    if (!this.#offered) return;
    this.#offered = false;
    const response = await fetch(this.#path).catch(() => null);
    const answer = response?.ok ? await response.json().catch(() => null) : null;
    if (!answer || this.#conversation === null) return;
    if (answer.conversation !== conversation) return this.#somebodyElse();
    if (!answer.text) return;
    this.#kept = answer.text;
    this.#composer.restore(answer.text);
  }

  /** The words have changed: they are kept at the next pause in the typing. */
  later() {
    if (this.#conversation === null) return;
    this.#changedAt ??= Date.now();
    clearTimeout(this.#timer);
    const wait = Math.min(PAUSE_MS, this.#changedAt + AT_LATEST_MS - Date.now());
    this.#timer = setTimeout(() => this.now(), Math.max(0, wait));
  }

  /** Keep what is there, also when the page is being left. One at a time, so that no older text comes after a newer. */
  async now() {
    clearTimeout(this.#timer);
    const text = this.#composer.words;
    if (this.#conversation === null || text === this.#kept || text.length > LONGEST_DRAFT) return;
    if (this.#sending) return;
    this.#changedAt = null;
    this.#sending = this.#send(text);
    const answer = await this.#sending;
    this.#sending = null;
    if (answer?.kept) this.#kept = text;
    // The visit has ended, or has become another person's: these words are not for it.
    if (answer?.kept === false) this.shut();
    else if (this.#composer.words !== text) this.later();
  }

  /** The visit is over: what is in the box is on its way before the page is emptied, and the page keeps nothing. */
  last() {
    const text = this.#composer.words;
    if (this.#conversation !== null && text && text !== this.#kept && text.length <= LONGEST_DRAFT) this.#send(text);
    this.shut();
  }

  /** Keep nothing more. */
  shut() {
    clearTimeout(this.#timer);
    this.#conversation = null;
  }

  #send(text) {
    const body = new FormData(this.#form);
    body.set("conversation", this.#conversation);
    body.set("text", text);
    return fetch(this.#path, { method: "POST", body, keepalive: true })
      .then((response) => (response.ok ? response.json() : null))
      .catch(() => null);
  }
}
