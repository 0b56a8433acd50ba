/** A card's pictures: two are pressed, one after the other, and then sent. */

import "./browser.js";

export class Pictures {
  #form;
  #ask;
  #buttons;

  constructor(form) {
    this.#form = form;
    this.#ask = form.querySelector("[data-ask]");
    this.#buttons = [...form.querySelectorAll("button[value]")];
    this.#buttons.forEach((button) => button.addEventListener("click", () => this.#press(button)));
  }

  get fields() {
    return this.#form.elements;
  }

  /** Forget what was pressed, and ask for the first picture. */
  begin() {
    this.fields.first.value = "";
    this.fields.second.value = "";
    this.#buttons.forEach((button) => (button.ariaPressed = "false"));
    this.#ask.textContent = this.#form.dataset.first;
  }

  #press(button) {
    if (this.fields.second.value) return;
    // A second press on the same picture clears the choice.
    if (this.fields.first.value === button.value) return this.begin();
    button.ariaPressed = "true";
    if (!this.fields.first.value) {
      this.fields.first.value = button.value;
      this.#ask.textContent = this.#form.dataset.second;
      return;
    }
    this.fields.second.value = button.value;
    this.#form.requestSubmit();
  }
}
