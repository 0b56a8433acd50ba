/** Shows over the message box who reads what is written: the character, a person, or the staff. */

import { grow } from "./text.js";

const TELL_EVERY_MS = 2_000;
const WRITING_FOR_MS = 6_000;
const OVER_FOR_MS = 20_000;

/**
 * `lines` are the drafted lines {writingToPerson, writingToStaff, writingWhilePaused} and the labels of the box
 * {toCharacter, toPerson, toStaff}, with `{name}` for a person's name. `send(frame)` tells staff that words are typed.
 * `isSaid(line)` says whether the newest turn shows a line about a pause, so that it is not said twice.
 */
export class Recipient {
  #line;
  #label;
  #box;
  #lines;
  #announce;
  #person = null;
  #isQuiet = false;
  #isPaused = false;
  #pauseLine = "";
  /** The line that a pause is over, shown for a while. */
  #over = "";
  #overTimer = null;
  #writing = "";
  #timer = null;
  #toldAt = 0;
  #isSaid;

  constructor({ form, lines, send, announce, isSaid }) {
    this.#isSaid = isSaid;
    this.#line = form.querySelector("[data-recipient]");
    this.#label = form.querySelector("[data-label]");
    this.#box = form.querySelector("textarea");
    this.#lines = lines;
    this.#announce = announce;
    this.#box.addEventListener("input", () => this.#tell(send));
  }

  /** Whether a person is there and reads along. */
  get isPerson() {
    return this.#person !== null;
  }

  /** Read from a frame who speaks. */
  apply(frame) {
    if (frame.type === "hello") this.#greet(frame.conversation);
    else if (frame.type === "person") this.#meet(frame.state === "joins" ? frame.name : null);
    else if (frame.type === "person_writing") return this.#showWriting(frame.line);
    else if (frame.type === "said") this.#stopWriting();
    else if (frame.type === "staff_pause") this.#pause(frame);
    else if (frame.type === "paused") return this.#draw();
    else if (frame.type === "safety" || frame.type === "held") this.#isQuiet = true;
    // The character speaks, so nothing keeps him from it.
    else if (frame.type === "words" || frame.type === "complete") [this.#isQuiet, this.#isPaused, this.#over] = [false, false, ""];
    else return;
    this.#draw();
  }

  clear() {
    this.#greet({});
    this.#draw();
  }

  // The previous release does not send `pause_line`.
  #greet({ person = null, quiet = false, paused = false, pause_line = "" }) {
    this.#meet(person?.name ?? null);
    this.#isQuiet = quiet;
    this.#isPaused = paused;
    this.#pauseLine = pause_line;
    this.#over = "";
  }

  /** Staff have paused the character for this page, or the pause is over: said at once, while no word is written. */
  #pause({ paused, line }) {
    this.#isPaused = paused;
    this.#pauseLine = paused ? line : "";
    this.#over = paused ? "" : line;
    clearTimeout(this.#overTimer);
    if (!paused) this.#overTimer = setTimeout(() => this.#endOver(), OVER_FOR_MS);
    if (!this.isPerson && !this.#isQuiet && !this.#isSaid(line)) this.#announce(line);
  }

  #endOver() {
    this.#over = "";
    this.#draw();
  }

  #meet(name) {
    if (name !== this.#person) this.#stopWriting();
    this.#person = name;
    this.#isQuiet = false;
  }

  #showWriting(line) {
    if (!this.isPerson) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#stopWriting();
      this.#draw();
    }, WRITING_FOR_MS);
    if (this.#writing) return;
    this.#writing = line;
    this.#draw();
    this.#announce(line);
  }

  #stopWriting() {
    clearTimeout(this.#timer);
    this.#writing = "";
  }

  #tell(send) {
    if (!this.isPerson || !this.#box.value.trim() || Date.now() - this.#toldAt < TELL_EVERY_MS) return;
    if (send({ type: "writing" })) this.#toldAt = Date.now();
  }

  #draw() {
    const [label, line] = this.#words();
    const name = this.#person ?? "";
    grow(this.#label, label.replace("{name}", name));
    const text = this.#writing || line.replace("{name}", name);
    if (!text === this.#line.hidden && this.#line.querySelector("[data-words]").textContent === text) return;
    this.#line.querySelector("use").setAttribute("href", `#sign-${this.#sign()}`);
    grow(this.#line.querySelector("[data-words]"), text);
    this.#line.hidden = !text;
  }

  #words() {
    const lines = this.#lines;
    if (this.isPerson) return [lines.toPerson, lines.writingToPerson];
    if (this.#isQuiet) return [lines.toStaff, lines.writingToStaff];
    if (!this.#isPaused) return [lines.toCharacter, this.#over];
    const isSaid = !this.#pauseLine || this.#isSaid(this.#pauseLine);
    return [lines.toCharacter, isSaid ? lines.writingWhilePaused : this.#pauseLine];
  }

  #sign() {
    if (this.#writing) return "writing";
    if (this.isPerson) return "joins";
    if (this.#isQuiet) return "reading";
    return this.#isPaused ? "paused" : "i_am_back";
  }
}
