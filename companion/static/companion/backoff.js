/** Backoff for sockets, requests and automatic reloads. */

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const FIRST_RELOAD_WAIT_MS = 1_000;
const LONGEST_RELOAD_WAIT_MS = 60_000;
/** After this time without a reload the count starts from zero. */
const FORGET_AFTER_MS = 180_000;

let reloading = false;

/** Full jitter: between zero and a ceiling that doubles, so that many pages do not reconnect together. */
export function waitBefore(attempt, random = Math.random) {
  return random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
}

/** The wait before the reload that follows `count` others: none for the first, then doubling up to a minute. */
export function waitBeforeReload(count, random = Math.random) {
  if (!count) return 0;
  const ceiling = Math.min(LONGEST_RELOAD_WAIT_MS, FIRST_RELOAD_WAIT_MS * 2 ** (count - 1));
  return ceiling * (1 + random()) / 2;
}

/** Resolves after so many milliseconds. */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Load this page again. The count is kept in the history entry, which survives a reload. */
export function reloadPatiently() {
  if (reloading) return;
  reloading = true;
  const { reloads = 0, reloadedAt = 0 } = history.state ?? {};
  const count = Date.now() - reloadedAt < FORGET_AFTER_MS ? reloads : 0;
  setTimeout(() => {
    history.replaceState({ ...history.state, reloads: count + 1, reloadedAt: Date.now() }, "");
    window.location.reload();
  }, waitBeforeReload(count));
}
