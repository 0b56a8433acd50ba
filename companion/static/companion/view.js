/** Draws the conversation. Draws again only what has changed, and never moves focus. */

import { fill } from "./text.js";
import { isLive } from "./turn.js";

/** The turns on the page, one article each, in order. */
export class View {
  #box;
  #template;
  #articles = new Map();

  constructor(box, template) {
    this.#box = box;
    this.#template = template;
  }

  draw(turn) {
    const article = this.#articles.get(turn.id) ?? this.#add(turn.id);
    const part = (name) => article.querySelector(`[data-part="${name}"]`);
    article.dataset.state = turn.state;
    part("asked").hidden = turn.question === null;
    fill(part("question"), turn.question ?? "");
    this.#openings(part("openings"), turn.openings);
    fill(part("reply"), turn.reply);
    say(part("line"), turn.line);
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

  /** The newest turn on the page, if there is one. */
  newest() {
    return this.#box.lastElementChild;
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
      const node = box.children[index] ?? box.appendChild(document.createElement("p"));
      node.dataset.kind = opening.kind;
      say(node, opening.line);
    });
  }
}

function say(node, line) {
  if (node.textContent !== line) node.textContent = line;
  node.hidden = !line;
}
