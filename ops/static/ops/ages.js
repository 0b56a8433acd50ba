/** Times as ages that grow: "for 3 min", "12 s ago". */

const INTERVAL_MS = 1_000;

/** A length of time in short words. Pure. */
export function inWords(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3_600);
  return hours < 48 ? `${hours} h ${Math.floor((seconds % 3_600) / 60)} min` : `${Math.floor(hours / 24)} days`;
}

/** Write the ages below `root`: of `data-since` as a length, of `data-ago` as a moment. */
export function write(root = document) {
  const now = Date.now();
  for (const place of root.querySelectorAll("[data-since]")) {
    const at = Date.parse(place.dataset.since);
    if (!Number.isNaN(at)) put(place, `for ${inWords(now - at)}`);
  }
  for (const place of root.querySelectorAll("[data-ago]")) {
    const at = Date.parse(place.dataset.ago);
    if (!Number.isNaN(at)) put(place, `${inWords(now - at)} ago`);
  }
}

function put(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

setInterval(write, INTERVAL_MS);
