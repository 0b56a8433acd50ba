/** Says calmly, and only after a while, that the service is not there. Silent again as soon as it is back. */

const SAY_AFTER_MS = 2_000;
const SAY_PLAINLY_AFTER_MS = 10_000;

/** Shows one drafted line in `box`; `lines` are {reconnecting, comeBack, unavailable}. */
export class Away {
  #box;
  #lines;
  #announce;
  #timers = [];

  constructor({ box, lines, announce }) {
    this.#box = box;
    this.#lines = lines;
    this.#announce = announce;
  }

  /** The line is down. Said once, however often an attempt to come back does not succeed. */
  begin(announced) {
    if (this.#timers.length) return;
    const first = announced ? this.#lines.comeBack : this.#lines.reconnecting;
    this.#timers = [
      setTimeout(() => this.say(first), SAY_AFTER_MS),
      setTimeout(() => this.say(this.#lines.unavailable), SAY_PLAINLY_AFTER_MS),
    ];
  }

  end() {
    this.#timers.forEach(clearTimeout);
    this.#timers = [];
    this.say("");
  }

  say(line) {
    if (this.#box.textContent === line) return;
    this.#box.textContent = line;
    this.#box.hidden = !line;
    if (line) this.#announce(line);
  }
}
