/** Says calmly, and only after a while, that the service is not there. Silent again as soon as it is back. */

const SAY_AFTER_MS = 2_000;
const SAY_PLAINLY_AFTER_MS = 10_000;

/** Shows one drafted line in `box`, and no sign of life on `page`; `lines` are {reconnecting, comeBack, unavailable}. */
export class Away {
  #page;
  #box;
  #lines;
  #announce;
  #timers = [];

  constructor({ page, box, lines, announce }) {
    this.#page = page;
    this.#box = box;
    this.#lines = lines;
    this.#announce = announce;
  }

  /** The line is down, or `silent` for so long that it must be. Said once, however often it does not come back. */
  begin({ announced = false, silent = false }) {
    this.#page.dataset.line = "down";
    const first = announced ? this.#lines.comeBack : this.#lines.reconnecting;
    if (silent && this.#box.hidden) this.say(first);
    if (this.#timers.length) return;
    this.#timers = [
      setTimeout(() => this.#box.hidden && this.say(first), SAY_AFTER_MS),
      setTimeout(() => this.say(this.#lines.unavailable), SAY_PLAINLY_AFTER_MS),
    ];
  }

  end() {
    this.#timers.forEach(clearTimeout);
    this.#timers = [];
    delete this.#page.dataset.line;
    this.say("");
  }

  /** The line is down, and will not be tried again by itself. */
  refuse(line) {
    this.end();
    this.#page.dataset.line = "down";
    this.say(line);
  }

  say(line) {
    const words = this.#box.querySelector("[data-words]");
    if (words.textContent === line) return;
    words.textContent = line;
    this.#box.hidden = !line;
    if (line) this.#announce(line);
  }
}
