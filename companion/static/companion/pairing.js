/** Shows a code that staff enter, and waits until this browser has become a machine of their site. */

import "./browser.js";
import { pause, waitBefore } from "./backoff.js";
import { request } from "./request.js";

const LOOK_EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 10_000;
/** Before the code runs out, so that no code is typed that is over. */
const RENEW_BEFORE_S = 30;

const page = document.querySelector("[data-pairing]");
const { codeUrl, claimUrl, machineUrl, tooMany, outOfReach } = page.dataset;
const find = (name) => page.querySelector(`[data-${name}]`);
const [shown, code, news] = [find("shown"), find("code-text"), find("news")];
const token = document.querySelector("[name=csrfmiddlewaretoken]").value;

async function run() {
  for (let attempt = 0; ; attempt++) {
    const made = await post(codeUrl);
    if (made?.paired) return leave();
    if (made?.code) {
      attempt = 0;
      show(made.code);
      if (await untilPaired(performance.now() + (made.good_s - RENEW_BEFORE_S) * 1000)) return leave();
    } else {
      tell(made?.problem === "too_many" ? tooMany : outOfReach);
      // At least some seconds: a page that is left alone must not use up what others may need.
      await pause(LOOK_EVERY_MS + waitBefore(attempt + 3));
    }
  }
}

async function untilPaired(endMs) {
  while (performance.now() < endMs) {
    await pause(LOOK_EVERY_MS);
    if (document.visibilityState === "hidden") continue;
    const claimed = await post(claimUrl);
    tell(claimed ? "" : outOfReach);
    if (claimed?.paired) return true;
    // Many other screens have asked for codes since: this one would be typed in vain.
    if (claimed?.shown === false) return false;
  }
  return false;
}

function show(text) {
  shown.hidden = false;
  tell("");
  code.textContent = text;
}

function leave() {
  window.location.replace(machineUrl);
}

function tell(line) {
  if (news.textContent !== line) news.textContent = line;
}

function post(address) {
  const body = new URLSearchParams({ csrfmiddlewaretoken: token });
  return request(address, { method: "POST", body, withinMs: ANSWER_WITHIN_MS });
}

find("no-script").remove();
run();
