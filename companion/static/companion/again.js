/** Loads the page again, once, where it did not come up: a part did not arrive, or is of another release. */

const AFTER_MS = 6_000;

/** The line that says whom to ask leaves the page only when everything has begun. */
function look() {
  const isUp = !document.querySelector("[data-no-script]");
  const isWrittenIn = Boolean(document.querySelector("textarea")?.value);
  // Once is enough: whoever reads that line is not to have the page taken away again and again.
  const wasAgain = performance.getEntriesByType("navigation")[0]?.type === "reload";
  if (!isUp && !isWrittenIn && !wasAgain) window.location.reload();
}

// Spread out, because whatever went wrong went wrong for everybody at once.
window.addEventListener("load", () => setTimeout(look, AFTER_MS * (1 + Math.random())));
