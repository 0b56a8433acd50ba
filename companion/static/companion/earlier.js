/** Brings what was said before onto the page, one page of turns at a time. */

/** `fetchTurns(which)` reads turns and says whether there are more before them; `turns()` are those of the page. */
export class Earlier {
  #button;
  #greeting;

  constructor({ button, greeting, fetchTurns, turns, place, painter }) {
    this.#button = button;
    this.#greeting = greeting;
    button.addEventListener("click", async () => {
      const found = await fetchTurns({ before: turns().all()[0].id });
      if (!found) return;
      turns().hasEarlier = found.hasEarlier;
      const pressed = document.activeElement === button;
      place.keeping(() => painter.now());
      // The button goes when there is nothing more behind it; whoever pressed it goes on where it led.
      if (pressed && !found.hasEarlier) greeting.focus({ preventScroll: true });
    });
  }

  /** The greeting stands at the very beginning; before anything else, the way to what is not on the page. */
  offer(hasEarlier) {
    this.#button.hidden = !hasEarlier;
    this.#greeting.hidden = hasEarlier;
  }
}
