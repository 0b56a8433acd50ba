/** Watches the page's visibility, the device's sleep and its network. */

/**
 * `suspend()` when the page is left, `resume()` when the browser shows it again from its cache, `unplugged()` when the
 * device goes offline, `hidden()` when the page is hidden, `wake()` when it is visible or online again.
 */
export function watchPresence({ suspend, resume, unplugged, hidden, wake }) {
  window.addEventListener("pagehide", suspend);
  window.addEventListener("pageshow", (event) => event.persisted && resume());
  window.addEventListener("offline", unplugged);
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? wake() : hidden()));
}
