/** On a shared machine: when staff offer a visit, a page of the last person's goodbye, or of a card, makes room for it. */

import { Connection } from "./socket.js";

const MACHINE = "/machine/";
const SOCKET = "/ws/machine/";

/** The page of the machine shows what it is asked. */
const leave = () => window.location.replace(MACHINE);
const connection = new Connection(SOCKET, {
  frame: (data) => data.type === "offer" && leave(),
  up() {},
  down() {},
  doubt() {},
  sure() {},
  tooLarge() {},
  signedOut() {},
  notAllowed() {},
});

window.addEventListener("pagehide", () => connection.close());
window.addEventListener("pageshow", (event) => event.persisted && connection.open());
connection.open();
