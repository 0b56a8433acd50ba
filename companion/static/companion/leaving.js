/** Ends or locks a visit: from this page, another tab, or the service. The page is emptied first, whatever answers. */

import { pause } from "./backoff.js";
import { newKey } from "./keys.js";
import { postUntil } from "./request.js";

const LATE_AFTER_MS = 4_000;
const ANSWER_WITHIN_MS = 10_000;
const LAST_WORDS_MS = 2_000;

/**
 * Tells the other tabs of this browser at once, also while the service is unreachable: `ending` and `ended`, `exiting`
 * and `exited`, `locking` and `locked`. Tabs of an earlier release take every word but `ending` for the end.
 */
const tabs = new BroadcastChannel("companion-visit");
/** Ends that the participant asked for: what is typed is not offered again. */
const ASKED_FOR = ["finished", "quick_exit"];
const CONFIRMED = { ending: "ended", exiting: "exited", locking: "locked" };

/**
 * Shows the end of a visit. `empty({keepsWords})` removes the conversation from the page; it returns a promise of the
 * end of saving what was typed. A page without a conversation is loaded again after an end.
 */
export class Leaving {
  #page;
  #ways;
  #endings;
  #empty;
  #after;
  #hasBegun = false;
  #isOver = false;

  constructor(page, empty) {
    this.#page = page;
    // Taken now, because an ending replaces the part of the page that contains them.
    const template = (name) => page.querySelector(`[data-${name}]`);
    this.#endings = {
      ending: template("leaving"),
      exiting: template("exiting"),
      locking: template("locking"),
      signedOut: template("signed-out"),
      moved: template("moved"),
    };
    const [finish, exit] = [template("finish"), template("exit")];
    const { lock, locked, notLocked } = page.dataset;
    const notYet = this.#endings.exiting.content.firstElementChild.dataset.notEnded;
    this.#ways = {
      ending: finish && { ...readForm(finish), notYet },
      exiting: { ...readForm(exit), notYet },
      locking: lock && { ...readForm(exit), address: lock, then: locked, notYet: notLocked },
    };
    this.#empty = empty;
    this.#after = exit.dataset.after;
    tabs.onmessage = ({ data }) => this.#hear(data);
    for (const [kind, form] of Object.entries({ ending: finish, exiting: exit })) {
      form?.addEventListener("submit", (event) => {
        event.preventDefault();
        this.#begin(kind, { pressed: true });
      });
    }
  }

  /** The page had no sign of life: empty it, and lock the visit. */
  lock() {
    this.#begin("locking", { pressed: true });
  }

  /** The service, or another tab that it told, says that the visit shows nothing any more; `reason` is its reason. */
  async signedOut(reason = "") {
    if (this.#isOver) return;
    this.#isOver = true;
    const kind = { idle: "locking", quick_exit: "exiting" }[reason];
    const ending = this.#endings[kind] ?? (reason === "moved" ? this.#endings.moved : this.#endings.signedOut);
    await this.#show(ending, { keepsWords: !ASKED_FOR.includes(reason) });
    if (kind && this.#ways[kind]) window.location.replace(this.#ways[kind].then);
    else if (!ending) window.location.replace(this.#after);
  }

  #hear(word) {
    if (word in CONFIRMED) return this.#begin(word, { pressed: false });
    this.signedOut({ exited: "quick_exit", locked: "idle" }[word]);
  }

  /** Empty the page, and request the end until the service confirms it. */
  async #begin(kind, { pressed }) {
    if (this.#hasBegun || this.#isOver) return;
    this.#hasBegun = true;
    const way = this.#ways[kind];
    const isSaved = this.#show(this.#endings[kind], { keepsWords: kind === "locking" });
    // A page without a conversation has nothing to send: the tab that began tells it when the end is confirmed.
    if (!way) return;
    if (pressed) tabs.postMessage(kind);
    // A reload must not show the conversation while the service has not confirmed the end.
    if (pressed || kind !== "ending") history.replaceState(null, "", way.meanwhile);
    // The browser delivers this even when the page is closed meanwhile.
    window.addEventListener("pagehide", () => this.#isOver || navigator.sendBeacon(way.address, way.facts));
    const lateness = setTimeout(() => this.#isOver || this.#tell(way.notYet), LATE_AFTER_MS);
    await untilConfirmed(way, () => this.#isOver);
    clearTimeout(lateness);
    if (this.#isOver) return;
    if (!pressed && kind === "ending") return this.signedOut();
    this.#isOver = true;
    if (pressed) tabs.postMessage(CONFIRMED[kind]);
    await isSaved;
    // `replace`, so that Back does not lead to the page of an ended visit.
    window.location.replace(way.then);
  }

  /** Replace the whole page by a drafted ending, or by nothing. */
  #show(ending, { keepsWords }) {
    const isSaved = this.#empty({ keepsWords });
    this.#page.replaceChildren((ending ?? this.#endings.exiting).content.cloneNode(true));
    this.#page.querySelector("[tabindex]").focus();
    return Promise.race([isSaved, pause(LAST_WORDS_MS)]);
  }

  #tell(line) {
    this.#page.querySelector("[data-news]").textContent = line;
    const elsewhere = this.#page.querySelector("[data-elsewhere]");
    if (elsewhere) elsewhere.hidden = false;
  }
}

function readForm(form) {
  const { then, meanwhile } = form.dataset;
  return { address: form.action, facts: new URLSearchParams(new FormData(form)), then, meanwhile };
}

/** Request the end or the lock until an answer repeats the proof: a proxy's answer does not. */
async function untilConfirmed({ address, facts }, isOver) {
  const proof = newKey();
  facts.set("proof", proof);
  const accepts = (answer) => answer?.ended === proof || answer?.locked === proof;
  await postUntil(address, { body: facts, accepts, isOver, keepalive: true, withinMs: ANSWER_WITHIN_MS });
}
