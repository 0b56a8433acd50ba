/** Ends a visit: from this page, another tab, or the service. The page is emptied. */

import { waitBefore } from "./backoff.js";
import { newKey } from "./keys.js";

const LATE_AFTER_MS = 4_000;
const ANSWER_WITHIN_MS = 10_000;

/** Tells the other tabs of this browser at once, also while the service is unreachable. */
const tabs = new BroadcastChannel("companion-visit");

/** Shows the end of a visit. `empty()` removes the conversation from the page. */
export class Leaving {
  #page;
  #form;
  #endings;
  #empty;
  #hasBegun = false;
  #isOver = false;

  constructor(page, empty) {
    this.#page = page;
    this.#form = page.querySelector("[data-finish]");
    // Taken now, because an ending replaces the part of the page that contains them.
    this.#endings = { leaving: page.querySelector("[data-leaving]"), signedOut: page.querySelector("[data-signed-out]") };
    this.#empty = empty;
    tabs.onmessage = ({ data }) => (data === "ending" ? this.#begin({ pressed: false }) : this.signedOut());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#begin({ pressed: true });
    });
  }

  /** The service, or another tab that it told, says that the visit has ended. */
  signedOut() {
    this.#isOver = true;
    this.#show(this.#endings.signedOut);
  }

  /** Empty the page, and request the end until the service confirms it. */
  async #begin({ pressed }) {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const [address, facts] = [this.#form.action, new URLSearchParams(new FormData(this.#form))];
    this.#show(this.#endings.leaving);
    if (pressed) {
      tabs.postMessage("ending");
      // A reload must not show the conversation while the service has not confirmed the end.
      history.replaceState(null, "", this.#form.dataset.meanwhile);
    }
    // The browser delivers this even when the page is closed meanwhile.
    window.addEventListener("pagehide", () => this.#isOver || navigator.sendBeacon(address, facts));
    const lateness = setTimeout(() => this.#isOver || this.#tell(this.#page.dataset.notEnded), LATE_AFTER_MS);
    await untilEnded(address, facts, () => this.#isOver);
    clearTimeout(lateness);
    if (!pressed) return this.signedOut();
    this.#isOver = true;
    tabs.postMessage("ended");
    // `replace`, so that Back does not lead to the page of an ended visit.
    window.location.replace(this.#form.dataset.then);
  }

  /** Replace the whole page by a drafted ending. */
  #show(ending) {
    this.#empty();
    this.#page.replaceChildren(ending.content.cloneNode(true));
    this.#page.querySelector("[tabindex]").focus();
  }

  #tell(line) {
    this.#page.querySelector("[data-news]").textContent = line;
  }
}

/** Request the end until an answer repeats the proof: a proxy's answer does not. */
async function untilEnded(address, facts, isOver) {
  const proof = newKey();
  facts.set("proof", proof);
  for (let attempt = 0; !isOver(); attempt++) {
    const answer = await post(address, facts);
    if (answer?.ended === proof) return;
    await new Promise((resolve) => setTimeout(resolve, waitBefore(attempt)));
  }
}

function post(address, body) {
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  return fetch(address, { method: "POST", body, redirect: "manual", keepalive: true, signal })
    .then((response) => (response.ok ? response.json() : null))
    .catch(() => null);
}
