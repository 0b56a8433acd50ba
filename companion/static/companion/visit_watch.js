/** Empties a page without a socket when its visit is over: ended in another tab, or on the service. */

import { Leaving } from "./leaving.js";
import { request } from "./request.js";

const ASK_EVERY_MS = 1_500;
const ANSWER_WITHIN_MS = 5_000;

/** Ask at `address`, while the page is visible, whether the visit is over. */
export function watchVisit(address) {
  let [isAsking, isEmptied] = [false, false];
  const leaving = new Leaving(document.body, () => (isEmptied = true));

  async function ask() {
    if (isAsking || isEmptied || document.visibilityState === "hidden") return;
    isAsking = true;
    const answer = await request(address, { withinMs: ANSWER_WITHIN_MS });
    isAsking = false;
    // A page that is being left is empty already, and goes elsewhere.
    if (!isEmptied && answer?.problem === "signed_out") leaving.signedOut(answer.reason);
  }

  setInterval(ask, ASK_EVERY_MS);
  document.addEventListener("visibilitychange", ask);
}
