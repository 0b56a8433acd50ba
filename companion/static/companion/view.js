/** Draws the conversation: only what has changed, and without moving the focus. */

import { fill, grow } from "./text.js";
import { isLive } from "./turn.js";

/** The turns on the page, one article each, in order. */
export class View {
  #box;
  #template;
  #drafted;
  #articles = new Map();

  /** `template` is one turn, `drafted` one drafted line. */
  constructor(box, template, drafted) {
    this.#box = box;
    this.#template = template;
    this.#drafted = drafted;
  }

  draw(turn) {
    const article = this.#articles.get(turn.id) ?? this.#add(turn.id);
    const part = (name) => article.querySelector(`[data-part="${name}"]`);
    article.dataset.state = turn.state;
    part("asked").hidden = turn.question === null;
    fill(part("question"), turn.question ?? "");
    this.#openings(part("openings"), turn.openings);
    fill(part("reply"), turn.reply);
    say(part("line"), kindOf(turn), turn.line);
    part("sign").hidden = !isLive(turn);
    part("answer").hidden = !(isLive(turn) || turn.line || turn.reply || turn.openings.length);
  }

  erase(id) {
    this.#articles.get(id)?.remove();
    this.#articles.delete(id);
  }

  clear() {
    this.#box.replaceChildren();
    this.#articles.clear();
  }

  /** The parts of the newest turn on the page, if there is one: {question, answer}. */
  newest() {
    const article = this.#box.lastElementChild;
    if (!article) return null;
    return { question: article, answer: article.querySelector('[data-part="answer"]') };
  }

  #add(id) {
    const article = this.#template.content.firstElementChild.cloneNode(true);
    article.dataset.turn = id;
    const next = [...this.#box.children].find((other) => Number(other.dataset.turn) > id);
    this.#box.insertBefore(article, next ?? null);
    this.#articles.set(id, article);
    return article;
  }

  #openings(box, openings) {
    while (box.childElementCount > openings.length) box.lastElementChild.remove();
    openings.forEach((opening, index) => {
      const blank = () => this.#drafted.content.firstElementChild.cloneNode(true);
      const node = box.children[index] ?? box.appendChild(blank());
      say(node, opening.kind, opening.line);
    });
  }
}

/** The kind of the line below a reply, which selects its sign. */
function kindOf(turn) {
  if (turn.state === "complete") return "shortened";
  if (turn.state === "stopped" && turn.unread) return "refused";
  if (isLive(turn)) return turn.state === "speaking" ? "still_here" : (turn.kind ?? "waiting");
  return turn.state;
}

/** Puts a drafted line and the sign of its kind on the page. */
function say(node, kind, line) {
  node.hidden = !line;
  node.dataset.kind = kind;
  node.querySelector("use").setAttribute("href", `#sign-${kind}`);
  grow(node.querySelector("[data-words]"), line);
}
