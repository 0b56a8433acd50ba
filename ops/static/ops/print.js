/** Opens the browser's print dialogue by a button, where scripts run. */

const button = document.querySelector("[data-print]");
document.querySelector("[data-no-script]").remove();
button.hidden = false;
button.addEventListener("click", () => window.print());
// A page of cards is not kept: Back loads it anew, or leads to the list.
window.addEventListener("pagehide", () => document.body.replaceChildren());
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
