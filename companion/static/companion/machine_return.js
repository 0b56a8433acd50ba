/** On a shared machine: when staff offer a visit, a page of the last person's goodbye, or of a card, makes room for it. */

import { Connection } from "./socket.js";

const connection = new Connection("/ws/machine/", {
  // The page of the machine shows what it is asked.
  frame: ({ type }) => type === "offer" && window.location.replace("/machine/"),
});

window.addEventListener("pagehide", () => connection.close());
window.addEventListener("pageshow", (event) => event.persisted && connection.open());
connection.open();
