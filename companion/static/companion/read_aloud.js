/** Reads messages aloud: on a press, or each as it comes. Stops at once when the page is left, hidden or emptied. */

import { look } from "./look.js";
import { isLive } from "./turn.js";
import { findVoice, hush, speak, watchVoices } from "./voice.js";

/**
 * `template` is the button at a message, with its labels in `data-read-aloud` and `data-stop-reading`; `stop` is the
 * button beside the box that stops whatever is read. `offer(button, offered)` shows or hides it.
 */
export class ReadAloud {
  #template;
  #stop;
  #buttons = new Map();
  /** What is being read: the message's id, or null for a line of the page. Undefined: nothing. */
  #reading;
  #queue = [];
  #run = 0;
  /** The message that was stopped by a press: what still comes of it is not read. */
  #stopped;

  constructor({ template, stop }) {
    this.#template = template;
    this.#stop = stop;
    stop.addEventListener("click", () => this.#stopByPress());
    watchVoices(() => this.#draw());
    window.addEventListener("pagehide", () => this.silence());
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && this.silence());
  }

  /** Put a button at a message that has something to read. `node` is where it stands, `item` the turn or entry. */
  dress(node, item) {
    // A message that still comes is read once it is there.
    const text = isLive(item) ? "" : spoken(item);
    const known = this.#buttons.get(item.id);
    if (known?.button.isConnected) known.text = text;
    else if (look.hasAloud && text) this.#add(node, item.id, text);
    this.#drawOne(item.id);
  }

  /** Read what was just announced, if this person wants each new message read. `id` is the message's; null: a line. */
  hear(text, id) {
    if (id !== null && id === this.#stopped) return;
    if (!look.readsEach || !findVoice() || document.visibilityState === "hidden") return;
    if (id !== null && this.#reading !== undefined && this.#reading !== id && look.readsNewest) this.silence();
    this.#queue.push({ text, id });
    if (this.#reading === undefined) this.#next();
  }

  /** Stop at once, and forget what was to be read. */
  silence() {
    this.#run++;
    this.#queue = [];
    this.#reading = undefined;
    hush();
    this.#draw();
  }

  /** The messages are gone from the page. */
  clear() {
    this.silence();
    this.#buttons.clear();
  }

  #add(node, id, text) {
    const button = this.#template.content.firstElementChild.cloneNode(true);
    this.#buttons.set(id, { button, text });
    button.addEventListener("click", () => this.#press(id));
    node.append(button);
  }

  #stopByPress() {
    this.#stopped = this.#reading ?? undefined;
    this.silence();
  }

  #press(id) {
    const isRead = this.#reading === id;
    this.#stopByPress();
    if (isRead) return;
    this.#queue = [{ text: this.#buttons.get(id).text, id }];
    this.#next();
  }

  #next() {
    const next = this.#queue.shift();
    this.#reading = next?.id;
    if (next) {
      const run = this.#run;
      speak(next.text, { slowly: look.isSlow, ended: () => run === this.#run && this.#next() });
    }
    this.#draw();
  }

  #draw() {
    for (const id of this.#buttons.keys()) this.#drawOne(id);
    const isReading = this.#reading !== undefined;
    // Hiding a focused button would lose the focus, so it stays while it has it.
    this.#stop.hidden = !isReading && document.activeElement !== this.#stop;
  }

  #drawOne(id) {
    const known = this.#buttons.get(id);
    if (!known) return;
    const { button, text } = known;
    const { readAloud, stopReading } = button.dataset;
    button.querySelector("[data-words]").textContent = this.#reading === id ? stopReading : readAloud;
    button.hidden = !text || !look.hasAloud || !findVoice();
  }
}

/** What is read of a message: drafted lines before it, its words, the line after it; a person's words after the name. */
function spoken(item) {
  if (item.entry) return item.kind === "said" ? `${item.name}: ${item.text}` : "";
  return [...item.openings.map((opening) => opening.line), item.reply, item.reply ? item.line : ""].filter(Boolean).join("\n");
}
