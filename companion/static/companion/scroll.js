/** Keeps the scroll position: the page follows new words only for a reader at its end. */

const NEAR_PX = 64;
/** Past the end by more than this, a reader is at the box under it. */
const PAST_PX = 8;
/** What the button to the newest needs between what is above and the box. */
const BUTTON_PX = 72;

/** Watches the window; `newest` leads back to the end; what is `above` and `writing` may lie over it. */
export class Place {
  #newest;
  #above;
  #writing;
  #height;
  #atEnd = false;
  #begun = false;

  constructor({ newest, above, writing }) {
    this.#newest = newest;
    this.#above = above;
    this.#writing = writing;
    this.#height = writing.offsetHeight;
    newest.addEventListener("click", () => {
      writing.querySelector("textarea").focus({ preventScroll: true });
      this.toEnd();
    });
    // A growing message box must not cover the words that were visible.
    new ResizeObserver(() => this.#onResize()).observe(writing);
    window.addEventListener("scroll", () => this.#offer(), { passive: true });
    window.addEventListener("resize", () => this.#offer(), { passive: true });
  }

  /** Change the page. A reader at the end stays there, but the start of `newest()` is not pushed out of sight. */
  during(change, newest) {
    const distance = this.#distance();
    // Under strong zoom the box is below the end. While the reader is there, it keeps its position.
    const isWriting = distance < -PAST_PX && !this.#isSticky(this.#writing);
    if (isWriting) this.keeping(change);
    else change();
    const reading = newest();
    this.#begun = Boolean(reading);
    if (!isWriting && distance <= NEAR_PX && reading) this.#follow(reading);
    this.#offer();
  }

  /** Add something above the reader without moving what they read. The box below may change its height meanwhile. */
  keeping(change) {
    const below = () => document.documentElement.scrollHeight - this.#writing.offsetHeight;
    const before = below() - window.scrollY;
    change();
    this.#to(below() - before);
    this.#offer();
  }

  /** Go to the end of what has been said, but not past the start of `node`, if there is one. */
  toEnd(node = null) {
    const start = node ? node.getBoundingClientRect().top + window.scrollY - this.#covered() : Infinity;
    this.#to(Math.min(this.#end(), start));
    this.#offer();
  }

  #onResize() {
    const follows = this.#begun && this.#atEnd && this.#isSticky(this.#writing);
    this.#height = this.#writing.offsetHeight;
    if (follows) this.toEnd();
    else this.#offer();
  }

  #follow(reading) {
    const end = this.#end();
    const start = this.#start(reading) + window.scrollY - this.#covered();
    // A reader who has scrolled past the start wants the end.
    this.#to(window.scrollY > start + 1 ? end : Math.min(end, start));
  }

  /** Where reading begins: at the question while it leaves room for the answer, otherwise at the answer. */
  #start({ question, answer }) {
    const asked = question.getBoundingClientRect();
    const begins = answer.getBoundingClientRect();
    const isShort = begins.top - asked.top <= (window.innerHeight - this.#covered()) / 3;
    return begins.height && !isShort ? begins.top : asked.top;
  }

  /** The scroll position at which the last words are just above the box; above the window's edge where the box is not
   * sticky. */
  #end() {
    const whole = document.documentElement.scrollHeight - window.innerHeight;
    if (this.#isSticky(this.#writing)) return whole;
    const top = this.#writing.getBoundingClientRect().top + window.scrollY;
    return Math.max(0, Math.min(whole, top - window.innerHeight));
  }

  #isSticky(node) {
    return getComputedStyle(node).position === "sticky";
  }

  #covered() {
    const sticky = this.#above.filter((node) => this.#isSticky(node));
    return sticky.reduce((height, node) => height + node.offsetHeight, 16);
  }

  #to(top) {
    window.scrollTo({ top, behavior: "instant" });
  }

  #distance() {
    // Growth of the box since the last measurement is not scrolling by the reader.
    const grown = this.#isSticky(this.#writing) ? this.#writing.offsetHeight - this.#height : 0;
    return this.#end() - window.scrollY - grown;
  }

  #offer() {
    const distance = this.#distance();
    this.#atEnd = distance <= NEAR_PX;
    const hasRoom = this.#writing.getBoundingClientRect().top - this.#covered() >= BUTTON_PX;
    const far = distance > NEAR_PX * 2 && hasRoom;
    // Hiding a focused button would lose the focus, so it stays while it has it.
    this.#newest.hidden = !far && document.activeElement !== this.#newest;
  }
}
