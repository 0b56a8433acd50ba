/** Reloads a page once that did not start: a script is missing, or is of another release. */

const AFTER_MS = 6_000;

/** `chat.js` removes the no-script line as its last step, so the line shows that the page did not start. */
function look() {
  const isUp = !document.querySelector("[data-no-script]");
  const isWrittenIn = Boolean(document.querySelector("textarea")?.value);
  // Reload once only: a participant must be able to read that line.
  const wasAgain = performance.getEntriesByType("navigation")[0]?.type === "reload";
  if (!isUp && !isWrittenIn && !wasAgain) window.location.reload();
}

// Jitter: a fault of the service affects all pages at the same moment.
window.addEventListener("load", () => setTimeout(look, AFTER_MS * (1 + Math.random())));
