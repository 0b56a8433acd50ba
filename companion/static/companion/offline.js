/** Shows a drafted line when the service is unreachable for some seconds, and hides it when it is back. */

const SAY_AFTER_MS = 2_000;
const SAY_PLAINLY_AFTER_MS = 10_000;

/** Shows one drafted line in `box`, and no sign of life on `page`; `lines` are {reconnecting, comeBack, unavailable}. */
export class OfflineNotice {
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

  /** The connection is lost, or `silent` for too long. The line is shown once for all attempts to reconnect. */
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

  /** The connection is closed and will not be opened again without the participant. */
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
