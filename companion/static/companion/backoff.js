/** How long to wait before trying again: the one brake for sockets, requests and pages that load themselves again. */

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const FIRST_RELOAD_WAIT_MS = 1_000;
const LONGEST_RELOAD_WAIT_MS = 60_000;
/** A page that stood for so long had come up; its next reload is the first again. */
const FORGET_AFTER_MS = 180_000;

let reloading = false;

/** Full jitter: anywhere between nothing and a ceiling that doubles, so a room full of screens spreads out. */
export function waitBefore(attempt, random = Math.random) {
  return random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
}

/** The wait before the reload that follows `count` others: none for the first, then doubling up to a minute. */
export function waitBeforeReload(count, random = Math.random) {
  if (!count) return 0;
  const ceiling = Math.min(LONGEST_RELOAD_WAIT_MS, FIRST_RELOAD_WAIT_MS * 2 ** (count - 1));
  return ceiling * (1 + random()) / 2;
}

/** Load this page again. How often it has done so is kept in its history entry, which a reload leaves alone. */
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
