/** The end of a visit: here, in another tab, or on the service. Nothing of it stays on the page. */

import { waitBefore } from "./backoff.js";
import { newKey } from "./keys.js";

const LATE_AFTER_MS = 4_000;
const ANSWER_WITHIN_MS = 10_000;

/** Tells the other tabs of this browser at once, with or without the service. Nothing is stored. */
const tabs = new BroadcastChannel("companion-visit");

/** How a visit's page ends. `empty()` takes everything anyone said off the page. */
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
    // They are part of what an ending takes the place of.
    this.#endings = { leaving: page.querySelector("[data-leaving]"), signedOut: page.querySelector("[data-signed-out]") };
    this.#empty = empty;
    tabs.onmessage = ({ data }) => (data === "ending" ? this.#begin({ pressed: false }) : this.signedOut());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#begin({ pressed: true });
    });
  }

  /** The service, or another tab that had it from there, says that the visit is over. */
  signedOut() {
    this.#isOver = true;
    this.#show(this.#endings.signedOut);
  }

  /** Leave this page empty, and ask for the end until the service confirms it. */
  async #begin({ pressed }) {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const [address, facts] = [this.#form.action, new URLSearchParams(new FormData(this.#form))];
    this.#show(this.#endings.leaving);
    if (pressed) {
      tabs.postMessage("ending");
      // A reload must not bring the conversation back while the service has not heard of the end.
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
    // Replaced, so that Back does not lead to the page of a visit that is over.
    window.location.replace(this.#form.dataset.then);
  }

  /** Put a drafted ending in the place of everything else. */
  #show(ending) {
    this.#empty();
    this.#page.replaceChildren(ending.content.cloneNode(true));
    this.#page.querySelector("[tabindex]").focus();
  }

  #tell(line) {
    this.#page.querySelector("[data-news]").textContent = line;
  }
}

/** Ask for the end until the service confirms it by repeating our proof. No other answer is believed. */
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
