/** Watches the page's visibility, the device's sleep and its network. */

/**
 * `suspend()` when the page is left or frozen, `resume()` when the browser shows it again, `unplugged()` when the
 * device goes offline, `hidden()` when the page is hidden, `wake()` when it is visible or online again.
 */
export function watchPresence({ suspend, resume, unplugged, hidden, wake }) {
  window.addEventListener("pagehide", suspend);
  // A browser that freezes a page may show it again, or keep a picture of it, before any script runs.
  document.addEventListener("freeze", suspend);
  document.addEventListener("resume", resume);
  window.addEventListener("pageshow", (event) => event.persisted && resume());
  window.addEventListener("offline", unplugged);
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? wake() : hidden()));
}
