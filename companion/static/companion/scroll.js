/** Keeps the reader's place: the page follows new words only for a reader who is at its end. */

const NEAR_PX = 64;

/** Watches the window; `newest` leads back to the end, `header` and `writing` may lie over it. */
export class Place {
  #newest;
  #header;
  #atEnd = false;
  #begun = false;

  constructor({ newest, header, writing }) {
    this.#newest = newest;
    this.#header = header;
    // What a person writes, or a line beside it, must not grow over the words they were reading.
    new ResizeObserver(() => this.#begun && this.#atEnd && this.toEnd()).observe(writing);
    window.addEventListener("scroll", () => this.#offer(), { passive: true });
    window.addEventListener("resize", () => this.#offer(), { passive: true });
  }

  /** Change the page. A reader at the end stays there, but the start of `newest()` is not pushed out of sight. */
  during(change, newest) {
    const following = this.#distance() <= NEAR_PX;
    change();
    const reading = newest();
    this.#begun = Boolean(reading);
    if (following && reading) this.#follow(reading);
    this.#offer();
  }

  /** Add something above the reader without moving what they read. */
  keeping(change) {
    const before = document.documentElement.scrollHeight - window.scrollY;
    change();
    this.#to(document.documentElement.scrollHeight - before);
    this.#offer();
  }

  toEnd() {
    this.#to(document.documentElement.scrollHeight);
    this.#offer();
  }

  #follow(reading) {
    const end = document.documentElement.scrollHeight - window.innerHeight;
    const start = reading.getBoundingClientRect().top + window.scrollY - this.#covered();
    // A reader who has gone past the start by themselves wants the end.
    this.#to(window.scrollY > start ? end : Math.min(end, start));
  }

  #covered() {
    const sticky = getComputedStyle(this.#header).position === "sticky";
    return 16 + (sticky ? this.#header.offsetHeight : 0);
  }

  #to(top) {
    window.scrollTo({ top, behavior: "instant" });
  }

  #distance() {
    return document.documentElement.scrollHeight - window.innerHeight - window.scrollY;
  }

  #offer() {
    this.#atEnd = this.#distance() <= NEAR_PX;
    const far = this.#distance() > NEAR_PX * 2;
    // A button that vanishes takes the focus with it, so it stays for as long as it has it.
    this.#newest.hidden = !far && document.activeElement !== this.#newest;
  }
}
