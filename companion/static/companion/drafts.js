/** Saves words that are typed and not sent on the service, for the same participant's next visit. Stores nothing here. */

import { request } from "./request.js";

const PAUSE_MS = 1_000;
const AT_LATEST_MS = 10_000;
/** UTF-16 units. The browser lets a page that is being left send 64 KiB, and this always fits. */
const LONGEST_DRAFT = 16_000;

/**
 * `composer` has the words. `offered` says that an earlier visit has left some; `visitReplaced()` is called when the
 * session belongs to another participant now.
 */
export class Drafts {
  #path;
  #form;
  #isBack = comesBack();
  #offered;
  #composer;
  #visitReplaced;
  #conversation = null;
  #kept = "";
  #timer = null;
  #changedAt = null;
  #sending = null;
  #last = null;

  constructor({ path, form, offered, composer, visitReplaced }) {
    this.#path = path;
    this.#form = form;
    this.#offered = offered || this.#isBack;
    this.#composer = composer;
    this.#visitReplaced = visitReplaced;
  }

  /** Start saving words of this conversation. Once, restore those of an earlier visit, or of this page before. */
  async open(conversation) {
    this.#conversation = conversation;
    if (window.location.hash) history.replaceState(null, "", window.location.pathname);
    if (!this.#offered) return;
    this.#offered = false;
    const answer = await request(this.#isBack ? `${this.#path}?own=1` : this.#path);
    if (!answer?.conversation || this.#conversation === null) return;
    if (answer.conversation !== conversation) return this.#visitReplaced();
    if (!answer.text) return;
    this.#kept = answer.text;
    this.#composer.restore(answer.text);
  }

  /** Save the words at the next pause in typing. */
  saveLater() {
    if (this.#conversation === null) return;
    this.#changedAt ??= Date.now();
    clearTimeout(this.#timer);
    const wait = Math.min(PAUSE_MS, this.#changedAt + AT_LATEST_MS - Date.now());
    this.#timer = setTimeout(() => this.saveNow(), Math.max(0, wait));
  }

  /** Save the words now. One request at a time, so that an older text cannot replace a newer one. */
  async saveNow() {
    clearTimeout(this.#timer);
    const text = this.#composer.words;
    if (this.#conversation === null || text === this.#kept || text.length > LONGEST_DRAFT) return;
    if (this.#sending) return;
    this.#changedAt = null;
    this.#sending = this.#post(this.#write(text));
    const answer = await this.#sending;
    this.#sending = null;
    if (answer?.kept) this.#kept = text;
    // The visit has ended, or the session belongs to another participant.
    if (answer?.kept === false) this.shut();
    else if (this.#composer.words !== text) this.saveLater();
  }

  /** Send the words a last time before the page is emptied, and stop saving. Returns a promise of its end. */
  saveLast() {
    const text = this.#composer.words;
    const isNew = this.#conversation !== null && text && text !== this.#kept && text.length <= LONGEST_DRAFT;
    // The body is made now: neither the words nor the conversation are on the page when an earlier request is over.
    const body = isNew ? this.#write(text) : null;
    const earlier = this.#sending;
    this.shut();
    this.#last ??= Promise.resolve(earlier).then(() => body && this.#post(body));
    return this.#last;
  }

  /** Stop saving. */
  shut() {
    clearTimeout(this.#timer);
    this.#conversation = null;
  }

  #write(text) {
    const body = new FormData(this.#form);
    body.set("conversation", this.#conversation);
    body.set("text", text);
    return body;
  }

  #post(body) {
    return request(this.#path, { method: "POST", body, keepalive: true });
  }
}

/** Whether the page was left and is there again: reloaded, by Back, or from the page of choices. */
function comesBack() {
  const type = performance.getEntriesByType("navigation")[0]?.type;
  return window.location.hash === "#words" || type === "reload" || type === "back_forward";
}
