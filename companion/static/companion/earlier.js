/** Loads earlier turns, one page at a time. */

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
      place.keeping(() => painter.flush());
      // The button is hidden when nothing is left to load; keyboard focus moves to the start of what was loaded.
      if (pressed && !found.hasEarlier) greeting.focus({ preventScroll: true });
    });
  }

  /** Show the button while there are earlier turns, and the greeting once the first turn is on the page. */
  offer(hasEarlier) {
    this.#button.hidden = !hasEarlier;
    this.#greeting.hidden = hasEarlier;
  }
}
