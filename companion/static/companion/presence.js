/** Whether anybody looks at the page: it is left, shown again, woken up, or back in reach of the service. */

/**
 * `putAway()` when the page is left, `takeOut()` when the browser shows a kept one again, `unplugged()` when the device
 * is offline, `hidden()` when nobody looks, `wake()` for the rest.
 */
export function watchPresence({ putAway, takeOut, unplugged, hidden, wake }) {
  window.addEventListener("pagehide", putAway);
  window.addEventListener("pageshow", (event) => event.persisted && takeOut());
  window.addEventListener("offline", unplugged);
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? wake() : hidden()));
}
