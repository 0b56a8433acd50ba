/** The locked page: the pictures of the card open it again. */

import { Pictures } from "./pictures.js";

const form = document.querySelector("[data-pictures]");
if (form) {
  form.hidden = false;
  new Pictures(form).begin();
}
// What was pressed is not kept for the next person, and the visit may be over since.
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
