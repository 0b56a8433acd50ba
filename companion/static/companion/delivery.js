/** How replies reach this person: as a whole or word by word, announced to a screen reader, and read aloud. */

import { Announcer } from "./announce.js";
import { reloadPatiently } from "./backoff.js";
import { look, putOn, watchLook } from "./look.js";
import { ReadAloud } from "./read_aloud.js";
import { Reveal } from "./reveal.js";

/** `find(name)` finds a part of the page. `again(id)` draws a turn again; without an id, everything. */
export class Delivery {
  #announcer;
  #aloud;
  #reveal;
  #showAll;
  #again;

  constructor({ find, lines, again }) {
    this.#aloud = new ReadAloud({ template: find("aloud-template"), stop: find("stop-reading") });
    this.#announcer = new Announcer(find("status"), (text, id) => this.#aloud.hear(text, id));
    this.#reveal = new Reveal({ look, again, stillHere: lines.stillHere, stillHereMs: Number(lines.stillHereMs) });
    this.#showAll = find("show-all");
    this.#showAll.addEventListener("click", () => this.#reveal.showAll());
    this.#again = again;
    watchLook(again);
  }

  /** Take on the look that the service says. */
  apply(frame) {
    if (frame.type === "hello") putOn(frame.conversation.look);
    if (frame.type === "look") this.#change(frame);
  }

  /** Staff, or another page of this person, have changed what they need. */
  #change({ look: attributes, language }) {
    putOn(attributes);
    this.#again();
    // The words of the page are those of the language in which it was served. What is typed is saved as it is left.
    if (language !== document.documentElement.lang) reloadPatiently();
  }

  /** Announce a drafted line that is of no message. */
  say(line) {
    this.#announcer.say(line);
  }

  /** Draw what is shown of a turn or an entry now, and return that. */
  draw(view, item) {
    const shown = this.#reveal.of(item);
    this.#aloud.dress(view.draw(shown), shown);
    // Hiding a focused button would lose the focus, so it stays while it has it.
    this.#showAll.hidden = !this.#reveal.isBehind && document.activeElement !== this.#showAll;
    return shown;
  }

  /** Announce what is new in what `draw` returned. */
  follow(shown) {
    this.#announcer.follow(shown);
  }

  /** Treat what is shown of a turn or an entry now as announced. */
  assume(item) {
    this.#announcer.assume(this.#reveal.of(item));
  }

  /** Say nothing more, in either voice: the page is left, or emptied. */
  clear() {
    this.#announcer.silence();
    this.#aloud.clear();
    this.#reveal.pause();
  }
}
