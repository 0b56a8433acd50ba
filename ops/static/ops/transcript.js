/** A transcript: one press prints it. */

import { showScripted } from "./acts.js";

const main = document.querySelector("#main");
showScripted(main);
main.querySelector("[data-print]").addEventListener("click", () => window.print());
