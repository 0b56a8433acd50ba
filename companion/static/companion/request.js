/** Requests to the service, which answers in JSON. A proxy's page, or no answer at all, counts as null. */

import { pause, waitBefore } from "./backoff.js";

/** The answer to one request; a refusal is {problem}. It may take `withinMs`, or as long as the browser waits. */
export async function request(address, { withinMs, ...options } = {}) {
  const headers = { Accept: "application/json" };
  const signal = withinMs && AbortSignal.timeout(withinMs);
  try {
    const response = await fetch(address, { headers, redirect: "manual", signal, ...options });
    const answer = await response.json();
    return response.ok || answer?.problem ? answer : null;
  } catch {
    return null;
  }
}

/** POST `body` until `accepts(answer)`, and return that answer; null once `isOver()`. */
export async function postUntil(address, { accepts, isOver = () => false, ...options }) {
  for (let attempt = 0; !isOver(); attempt++) {
    const answer = await request(address, { method: "POST", ...options });
    if (accepts(answer)) return answer;
    await pause(waitBefore(attempt));
  }
  return null;
}
