/** The idle lock: warns ahead, stays for any key or touch, and then asks the page to lock. */

const TICK_MS = 1_000;
const WARN_MS = 30_000;
const TELL_EVERY_MS = 20_000;
const TELL_TABS_EVERY_MS = 1_000;
/** The wall clock has gone this much further than the page: the device slept, or the clock was set. */
const LEAP_MS = 15_000;
/** No timer ran for this long: the browser had frozen the page. Hidden pages have one each minute. */
const GAP_MS = 90_000;
const SIGNS_OF_LIFE = ["keydown", "pointerdown", "pointermove", "wheel", "touchstart", "touchmove", "input", "click"];

/** Tells the other tabs of this browser that the person is there. */
const tabs = new BroadcastChannel("companion-active");

/**
 * `box` has the warning; `line` sends signs of life. Calls `lock()` when the time is over, and `doubt()` when the page's
 * clocks cannot say how much is left, so that the service has to.
 */
export class Idle {
  #box;
  #form;
  #line;
  #announce;
  #on;
  #afterMs = null;
  #deadline = Infinity;
  #signAt = null;
  #reportedAt = -Infinity;
  #toldTabsAt = -Infinity;
  #isReported = true;
  #ticked = null;
  #timer = null;

  constructor({ box, form, line, announce, lock, doubt }) {
    this.#box = box;
    this.#form = form;
    this.#line = line;
    this.#announce = announce;
    this.#on = { lock, doubt };
    for (const type of SIGNS_OF_LIFE) {
      window.addEventListener(type, (event) => event.isTrusted && this.#noteSign(), { capture: true, passive: true });
    }
    tabs.onmessage = () => this.#extend();
  }

  /** Start to count by what the service says: {after_s, left_s}, null when the visit does not lock. */
  start(idle) {
    this.stop();
    // The previous release does not send it.
    if (!idle) return;
    const now = performance.now();
    this.#afterMs = idle.after_s * 1_000;
    const sign = this.#signAt === null ? -Infinity : this.#signAt + this.#afterMs;
    this.#deadline = Math.max(now + idle.left_s * 1_000, sign);
    this.#ticked = { page: now, wall: Date.now() };
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** Count no more: the page is left, hidden from the service, or emptied. */
  stop() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.#box.hidden = true;
  }

  #noteSign() {
    this.#extend();
    this.#isReported = false;
    this.#report();
    const now = performance.now();
    if (now - this.#toldTabsAt < TELL_TABS_EVERY_MS) return;
    this.#toldTabsAt = now;
    tabs.postMessage("active");
  }

  #extend() {
    this.#signAt = performance.now();
    if (this.#afterMs !== null) this.#deadline = this.#signAt + this.#afterMs;
  }

  #report() {
    const now = performance.now();
    if (this.#isReported || now - this.#reportedAt < TELL_EVERY_MS || !this.#line.send({ type: "active" })) return;
    this.#reportedAt = now;
    this.#isReported = true;
  }

  #tick() {
    const now = { page: performance.now(), wall: Date.now() };
    const gap = now.page - this.#ticked.page;
    const leap = now.wall - this.#ticked.wall - gap;
    this.#ticked = now;
    if (leap > LEAP_MS || gap > GAP_MS) return this.#on.doubt();
    this.#report();
    const left = this.#deadline - now.page;
    if (left <= 0) {
      this.stop();
      this.#on.lock();
    } else if (left <= Math.min(WARN_MS, this.#afterMs / 2)) this.#warn();
    else this.#hide();
  }

  #warn() {
    if (!this.#box.hidden) return;
    this.#box.hidden = false;
    this.#announce(this.#box.querySelector("p").textContent);
  }

  #hide() {
    if (this.#box.hidden) return;
    const hadFocus = this.#box.contains(document.activeElement);
    this.#box.hidden = true;
    if (hadFocus) this.#form.querySelector("textarea").focus({ preventScroll: true });
  }
}
