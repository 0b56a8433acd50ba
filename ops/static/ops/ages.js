/** Times as ages that grow: "for 3 min", "12 s ago". */

import { textOf } from "./texts.js";

const INTERVAL_MS = 1_000;

/** A length of time in short words. */
export function inWords(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return textOf("age_s", { count: seconds });
  if (seconds < 3_600) return textOf("age_min", { count: Math.floor(seconds / 60) });
  const hours = Math.floor(seconds / 3_600);
  if (hours < 48) return textOf("age_h", { hours, minutes: Math.floor((seconds % 3_600) / 60) });
  return textOf("age_days", { count: Math.floor(hours / 24) });
}

/** Write the ages below `root`: of `data-since` as a length, of `data-ago` as a moment. */
export function write(root = document) {
  const now = Date.now();
  for (const place of root.querySelectorAll("[data-since]")) {
    const at = Date.parse(place.dataset.since);
    if (!Number.isNaN(at)) put(place, textOf("for_age", { age: inWords(now - at) }));
  }
  for (const place of root.querySelectorAll("[data-ago]")) {
    const at = Date.parse(place.dataset.ago);
    if (!Number.isNaN(at)) put(place, textOf("age_ago", { age: inWords(now - at) }));
  }
}

function put(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

setInterval(write, INTERVAL_MS);
