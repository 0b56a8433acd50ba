/** Draws the conversation: only what has changed, and without moving the focus. */

import { fill, grow } from "./text.js";
import { isLive } from "./turn.js";

/** States in which the service speaks below the question, and not the character. */
const OF_THE_SERVICE = new Set(["safety", "handed_over"]);

/** The turns and entries on the page, one node each, in order. */
export class View {
  #box;
  #template;
  #nodes = new Map();

  /** `template(name)` is one turn (`turn`), one drafted line (`drafted`), or one message of a person (`said`). */
  constructor(box, template) {
    this.#box = box;
    this.#template = template;
  }

  /** Draw an item, and return the node that messages beside it may be put into. */
  draw(item) {
    const node = this.#nodes.get(item.id) ?? this.#make(item);
    this.#put(node, item);
    if (item.entry) drawEntry(node, item);
    else this.#drawTurn(node, item);
    return node.querySelector('[data-part="answer"]') ?? node;
  }

  erase(id) {
    this.#nodes.get(id)?.remove();
    this.#nodes.delete(id);
  }

  clear() {
    this.#box.replaceChildren();
    this.#nodes.clear();
  }

  /** The parts of what was said last, if there is anything: {question, answer}. */
  newest() {
    const last = this.#box.lastElementChild;
    if (!last) return null;
    return { question: last, answer: last.querySelector('[data-part="answer"]') ?? last };
  }

  #drawTurn(article, turn) {
    const part = (name) => article.querySelector(`[data-part="${name}"]`);
    article.dataset.state = turn.state;
    part("asked").hidden = turn.question === null;
    fill(part("question"), turn.question ?? "");
    this.#openings(part("openings"), turn.openings);
    fill(part("reply"), turn.reply);
    say(part("line"), kindOf(turn), turn.line);
    part("sign").hidden = !isLive(turn);
    part("speaker").hidden = OF_THE_SERVICE.has(turn.state) && !turn.reply;
    part("answer").hidden = !(isLive(turn) || turn.line || turn.reply || turn.openings.length);
  }

  #make(item) {
    const node = this.#copy(item.entry ? (item.kind === "said" ? "said" : "drafted") : "turn");
    if (item.entry) node.dataset.entry = item.entry;
    else node.dataset.turn = item.id;
    this.#nodes.set(item.id, node);
    return node;
  }

  /** Put a node in its place: an entry stands after its turn, and after the entries before it. */
  #put(node, item) {
    const place = item.entry ? [item.after, item.entry] : [item.id, 0];
    if (node.isConnected && node.dataset.after === String(place[0])) return;
    node.dataset.after = place[0];
    const next = [...this.#box.children].find((other) => other !== node && isBehind(other, place));
    this.#box.insertBefore(node, next ?? null);
  }

  #openings(box, openings) {
    while (box.childElementCount > openings.length) box.lastElementChild.remove();
    openings.forEach((opening, index) => {
      const node = box.children[index] ?? box.appendChild(this.#copy("drafted"));
      say(node, opening.kind, opening.line);
    });
  }

  #copy(name) {
    return this.#template(name).content.firstElementChild.cloneNode(true);
  }
}

function drawEntry(node, { kind, name, text }) {
  if (kind !== "said") return say(node, kind, text);
  grow(node.querySelector('[data-part="name"]'), name);
  fill(node.querySelector('[data-part="text"]'), text);
}

/** Whether a node stands behind a place, [turn, entry]. */
function isBehind(node, [turn, entry]) {
  const after = Number(node.dataset.after);
  return after > turn || (after === turn && Number(node.dataset.entry ?? 0) > entry);
}

/** The kind of the line below a reply, which selects its sign. */
function kindOf(turn) {
  if (turn.state === "complete") return turn.kind || "shortened";
  if (turn.state === "stopped" && turn.unread) return "refused";
  if (isLive(turn)) return turn.state === "speaking" ? "still_here" : (turn.kind || "waiting");
  return turn.state;
}

/** Puts a drafted line and the sign of its kind on the page. */
function say(node, kind, line) {
  node.hidden = !line;
  node.dataset.kind = kind;
  node.querySelector("use").setAttribute("href", `#sign-${kind}`);
  grow(node.querySelector("[data-words]"), line);
}
