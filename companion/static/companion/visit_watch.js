/** Watches the visit of a page without a socket: empties the page when it is over, in another tab or on the service. */

import { Leaving } from "./leaving.js";
import { request } from "./request.js";

const ASK_EVERY_MS = 1_500;
const ANSWER_WITHIN_MS = 5_000;

/** Ask at `address`, while the page is visible, whether the visit is over. `begin()` returns what takes other answers. */
export function watchVisit(address, begin) {
  let [isAsking, isEmptied] = [false, false];
  const leaving = new Leaving(document.body, () => (isEmptied = true));

  async function ask() {
    if (isAsking || isEmptied || document.visibilityState === "hidden") return;
    isAsking = true;
    const takeOther = begin();
    const answer = await request(address, { withinMs: ANSWER_WITHIN_MS });
    isAsking = false;
    // A page that is being left is empty already, and goes elsewhere.
    if (isEmptied || !answer) return;
    if (answer.problem === "signed_out") leaving.signedOut(answer.reason);
    else takeOther(answer);
  }

  setInterval(ask, ASK_EVERY_MS);
  document.addEventListener("visibilitychange", ask);
}
