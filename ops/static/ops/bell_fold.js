/** The bell's one line on a small screen: how many flags ring, and a press that opens the list. */

import { countedText, textOf } from "./texts.js";

/** `bell` is the section. Style sheets decide where the line is shown; elsewhere the list is always open. */
export class BellFold {
  #bell;
  #button;

  constructor(bell) {
    this.#bell = bell;
    this.#button = bell.querySelector("[data-bell-fold]");
    this.#button.addEventListener("click", () => this.#open(!this.#isOpen));
    bell.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#isOpen) return;
      this.#open(false);
      this.#button.focus({ preventScroll: true });
    });
  }

  /** Show the line for these flags. `trouble` is why this screen cannot ring, in a word or two; empty: it can. */
  show(flags, trouble) {
    this.#button.hidden = !flags.length;
    this.#bell.toggleAttribute("data-has-flags", flags.length > 0);
    if (!flags.length) this.#open(false);
    const open = flags.filter((flag) => flag.state === "open");
    const red = open.filter((flag) => flag.tier === "red");
    this.#button.dataset.tier = red.length ? "red" : "amber";
    this.#button.dataset.state = open.length ? "open" : "accepted";
    this.#put("says", countInWords(open.length, red.length));
    this.#put("trouble", trouble);
  }

  #put(part, text) {
    const place = this.#button.querySelector(`[data-bell-${part}]`);
    if (place.textContent !== text) place.textContent = text;
  }

  get #isOpen() {
    return "open" in this.#bell.dataset;
  }

  #open(isOpen) {
    this.#bell.toggleAttribute("data-open", isOpen);
    this.#button.ariaExpanded = String(isOpen);
  }
}

/** "3 flags, 2 red". */
export function countInWords(open, red) {
  if (!open) return textOf("fold_accepted");
  if (red === open) return countedText("fold_all_red", open);
  return red ? textOf("fold_some_red", { count: open, red }) : countedText("fold_flags", open);
}
