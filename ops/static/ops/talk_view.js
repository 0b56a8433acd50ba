/** Draws a conversation for staff: only what has changed, into the elements that the service has drawn. */

import { grow } from "../companion/text.js";
import { compare, isLive } from "./talk.js";
import { textOf } from "./texts.js";

const CLOCK = new Intl.DateTimeFormat(document.documentElement.lang, {
  ...{ day: "2-digit", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" },
  timeZone: "UTC",
});

/** `list` holds the items; the page has a <template> for each kind; `words` {turns, entries}. */
export class TalkView {
  #list;
  #words;
  #nothing;

  constructor(list, { words, nothing }) {
    this.#list = list;
    this.#words = words;
    this.#nothing = nothing;
  }

  draw(item) {
    const node = this.find(item) ?? this.#add(item);
    const part = (name) => node.querySelector(`[data-part="${name}"]`);
    DRAW[item.kind](node, part, item, this.#words);
    if (item.clock || item.at) put(part("at"), item.clock ?? clock(item.at));
    this.#nothing.hidden = true;
    return node;
  }

  /** A time after that of every item here, in milliseconds. */
  get endMs() {
    return 1 + Math.max(0, ...[...this.#list.children].map((node) => placeOf(node)[2]));
  }

  /** The element of an item, if it is there. */
  find({ kind, id }) {
    return this.#list.querySelector(`[data-item="${kind}"][data-id="${CSS.escape(id)}"]`);
  }

  #add(item) {
    const node = document.querySelector(`[data-${item.kind}-template]`).content.firstElementChild.cloneNode(true);
    node.dataset.id = item.id;
    node.dataset.place = item.place.join(",");
    for (const place of node.querySelectorAll("[data-scripted]")) place.hidden = false;
    const next = [...this.#list.children].find((other) => compare(placeOf(other), item.place) > 0);
    this.#list.insertBefore(node, next ?? null);
    return node;
  }
}

const DRAW = { turn, entry, flag, visit, offer };

function turn(node, part, item, words) {
  const before = node.dataset.state;
  node.dataset.state = item.state;
  node.dataset.reason = item.reason ?? "";
  put(part("says"), words.turns[`${item.state}:${item.reason}`] ?? words.turns[item.state] ?? "");
  grow(part("question"), item.question ?? "");
  // Words that a person is reading are not covered under their eyes.
  if (item.state === "safety" && before !== "safety") part("cover").open = false;
  const box = part("openings");
  while (box.childElementCount > item.openings.length) box.lastElementChild.remove();
  item.openings.forEach((opening, index) => put(box.children[index] ?? drafted(box), opening.line));
  grow(part("reply"), item.reply);
  part("half").hidden = item.state !== "paused" || !item.reply;
  put(part("line"), item.line);
  part("line").hidden = !item.line;
  part("answer").hidden = !(item.reply || item.line || item.openings.length || (isLive(item) && item.state === "speaking"));
}

function entry(node, part, item, words) {
  node.dataset.entry = item.entry;
  put(part("name"), item.name ?? "");
  put(part("says"), item.says ?? words.entries[item.entry] ?? "");
  put(part("text"), item.text ?? "");
}

function flag(node, part, item) {
  Object.assign(node.dataset, { tier: item.tier, state: item.state, owner: item.owner ?? "", handed: item.handed_to ?? "" });
  put(part("tier"), item.tier_says);
  put(part("says"), item.says);
  put(part("stands"), stands(item));
  const steps = item.steps.filter((step) => step.note || step.who);
  part("steps").replaceChildren(...steps.map(stepItem));
}

function visit(node, part, item) {
  put(part("where"), where(item));
  put(part("ended"), item.ended_says);
  node.querySelector("[data-end-visit]").hidden = !item.is_open;
}

/** Where a visit is, and by whom the person was let in, after when it began. */
function where({ machine, opened_by: by }) {
  if (machine) return ` ${textOf(by ? "visit_on_by" : "visit_on", { machine, by })}`;
  return by ? textOf("visit_by", { by }) : "";
}

function offer(node, part, item) {
  for (const name of ["by", "machine", "says"]) put(part(name), item[name]);
}

function stands(item) {
  const [owner, other, outcome] = [item.owner_name, item.handed_to_name, item.outcome_says];
  if (item.state === "closed") return textOf("stands_closed", { outcome, owner });
  if (item.state === "open") return textOf("stands_open");
  return textOf(other ? "stands_handed" : "stands_accepted", { owner, other });
}

function stepItem(step) {
  const item = document.createElement("li");
  item.append(`${step.clock} ${step.says}`);
  if (step.who) item.append(`, ${step.who}`);
  if (!step.who && step.note) item.append(` ${step.note}`);
  if (!step.note || !step.who) return item;
  const note = document.createElement("q");
  note.dir = "auto";
  note.textContent = step.note;
  item.append(": ", note);
  return item;
}

function drafted(box) {
  const line = document.createElement("p");
  line.className = "drafted";
  line.dir = "auto";
  box.append(line);
  return line;
}

function placeOf(node) {
  return node.dataset.place.split(",").map(Number);
}

function clock(at) {
  return at ? CLOCK.format(new Date(at)) : "";
}

function put(place, text) {
  if (place.textContent !== text) place.textContent = text;
}
