/** The end of a visit: here, in another tab, or on the service. Nothing of it stays on the page. */

import { waitBefore } from "./socket.js";

const LATE_AFTER_MS = 10_000;

/** Tells the other tabs of this browser at once, with or without the service. Nothing is stored. */
const tabs = new BroadcastChannel("companion-visit");

/** `empty()` takes everything off the page; `heard()` is called when another tab has ended the visit. */
export function watchForTheEnd({ form, page, goodbye, late, empty, heard }) {
  tabs.onmessage = () => heard();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const facts = new FormData(form);
    empty();
    showEnding(page, goodbye);
    tabs.postMessage("ended");
    finish({ address: form.action, facts, then: form.dataset.then, isLate: () => say(page, late) });
  });
}

/** End the visit on the service, however long it takes to reach it, then show the page that says so. */
async function finish({ address, facts, then, isLate }) {
  const lateness = setTimeout(isLate, LATE_AFTER_MS);
  for (let attempt = 0; ; attempt++) {
    const ended = await fetch(address, { method: "POST", body: facts, redirect: "manual", keepalive: true })
      .then((response) => response.type === "opaqueredirect" || response.status < 500)
      .catch(() => false);
    if (ended) break;
    await new Promise((resolve) => setTimeout(resolve, waitBefore(attempt)));
  }
  clearTimeout(lateness);
  // Replaced, so that Back does not lead to the page of a visit that is over.
  window.location.replace(then);
}

/** Put a drafted ending in the place of everything else. */
export function showEnding(page, ending) {
  page.replaceChildren(ending.content.cloneNode(true));
  page.querySelector("[tabindex]")?.focus();
}

function say(page, line) {
  const node = document.createElement("p");
  node.textContent = line;
  page.querySelector("[tabindex]")?.append(node);
}
