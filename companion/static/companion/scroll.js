/** Keeps the reader's place: the page follows new words only for a reader who is at its end. */

const NEAR_PX = 64;

/** Watches the window; `newest` is the button that leads back to the end. */
export class Place {
  #newest;
  #header;

  constructor({ newest, header }) {
    this.#newest = newest;
    this.#header = header;
    window.addEventListener("scroll", () => this.#offer(), { passive: true });
    window.addEventListener("resize", () => this.#offer(), { passive: true });
  }

  /** Change the page. A reader at the end stays there, but the start of `reading` is not pushed out of sight. */
  during(change, reading) {
    const following = this.#distance() <= NEAR_PX;
    change();
    if (following) this.#follow(reading());
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
    const start = reading ? reading.getBoundingClientRect().top + window.scrollY - this.#covered() : end;
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
    const far = this.#distance() > NEAR_PX * 2;
    // A button that vanishes takes the focus with it, so it stays for as long as it has it.
    this.#newest.hidden = !far && document.activeElement !== this.#newest;
  }
}
