// Looks now and then whether the service is back. Until then the page stays as it is: nothing moves, nothing is
// read out again.

import { reloadPatiently } from "./companion/backoff.js";

const ABOUT_MS = 15000;

function waitAWhile() {
  // Spread out, so that the machines of a site do not all come back in the same moment.
  setTimeout(look, ABOUT_MS * (0.5 + Math.random()));
}

async function look() {
  try {
    const answer = await fetch("/healthz", { cache: "no-store", credentials: "omit" });
    if (answer.ok) {
      if (document.body.dataset.next) location.replace(document.body.dataset.next);
      else reloadPatiently();
      return;
    }
  } catch {
    // No answer at all: the page says so already.
  }
  waitAWhile();
}

waitAWhile();
