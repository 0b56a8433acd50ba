/** Decides when the page is drawn: once a frame at most, and never before it is known whose page it is. */

const UNSEEN_MS = 250;

/** Collects the ids of what has changed and hands them to `paint(ids)`. Shut at first. */
export class Painter {
  #paint;
  #changed = new Set();
  #booked = false;
  isOpen = false;

  constructor(paint) {
    this.#paint = paint;
  }

  add(...ids) {
    for (const id of ids) this.#changed.add(id);
  }

  soon() {
    if (this.#booked) return;
    this.#booked = true;
    // A page nobody looks at gets no animation frames, and still has to be right when they look.
    if (document.visibilityState === "visible") requestAnimationFrame(() => this.now());
    else setTimeout(() => this.now(), UNSEEN_MS);
  }

  now() {
    this.#booked = false;
    if (!this.isOpen) return;
    const ids = [...this.#changed];
    this.#changed.clear();
    this.#paint(ids);
  }

  open() {
    this.isOpen = true;
    this.now();
  }

  /** From now on nothing is drawn; what changes is kept for the day it opens again. */
  shut() {
    this.isOpen = false;
  }
}
