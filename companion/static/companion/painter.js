/** Schedules drawing: at most once per animation frame, and not before the conversation is known. */

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

  schedule() {
    if (this.#booked) return;
    this.#booked = true;
    // A hidden page gets no animation frames, but must be up to date when it is shown.
    if (document.visibilityState === "visible") requestAnimationFrame(() => this.flush());
    else setTimeout(() => this.flush(), UNSEEN_MS);
  }

  flush() {
    this.#booked = false;
    if (!this.isOpen) return;
    const ids = [...this.#changed];
    this.#changed.clear();
    this.#paint(ids);
  }

  open() {
    this.isOpen = true;
    this.flush();
  }

  /** Stop drawing. Changes are collected until `open`. */
  shut() {
    this.isOpen = false;
  }
}
