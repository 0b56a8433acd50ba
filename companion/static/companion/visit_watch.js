/** Empties a page without a socket when its visit is over: ended in another tab, or on the service. */

const ASK_EVERY_MS = 1_500;
const ANSWER_WITHIN_MS = 5_000;

/** Ask at `address`, which answers 401 once the visit is over, while the page is visible. */
export function watchVisit(address) {
  new BroadcastChannel("companion-visit").onmessage = leave;
  setInterval(() => document.visibilityState === "visible" && ask(address), ASK_EVERY_MS);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && ask(address));
}

let isAsking = false;

async function ask(address) {
  if (isAsking) return;
  isAsking = true;
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const headers = { Accept: "application/json" };
  const response = await fetch(address, { headers, redirect: "manual", signal }).catch(() => null);
  isAsking = false;
  if (response?.status === 401) leave();
}

/** Nothing of the person stays, whatever the reload brings. */
function leave() {
  // A page that is being left is empty already, and goes elsewhere.
  if (!document.querySelector("[data-strip]")) return;
  document.body.replaceChildren();
  for (const name of Object.keys(document.documentElement.dataset)) delete document.documentElement.dataset[name];
  window.location.reload();
}
