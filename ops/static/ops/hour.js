/** Draws the last hour: how many spoke and waited, the ceiling, and the minutes in which something went wrong. */

import { textOf } from "./texts.js";

const SPACE = document.querySelector("svg").namespaceURI;
const HEIGHT = 150;
const MARKS = 22;
const ROOM = { above: 24, below: 46 };
const [TIME, SPEAKING, WAITING, PAUSED, REFUSED] = [0, 1, 2, 4, 5];

/** `drawing` is an <svg>, `table` the body of the table that says the same. Minutes come oldest first. */
export class Hour {
  #drawing;
  #table;
  #minutes = [];
  #ceiling = 1;

  constructor(drawing, table) {
    this.#drawing = drawing;
    this.#table = table;
    // One unit is one pixel at every width, so that the words in it stay readable on a phone.
    new ResizeObserver(() => this.#draw()).observe(drawing.parentElement);
  }

  /** Null leaves the minutes or the ceiling as they are. */
  show(minutes, ceiling) {
    this.#ceiling = ceiling ?? this.#ceiling;
    if (minutes) {
      this.#minutes = minutes;
      this.#table.replaceChildren(...minutes.toReversed().map(row));
    }
    this.#draw();
  }

  #draw() {
    const [all, ceiling, wide] = [this.#minutes, this.#ceiling, Math.max(200, this.#drawing.parentElement.clientWidth - 4)];
    if (!all.length) return;
    this.#drawing.setAttribute("viewBox", `-2 ${-ROOM.above} ${wide + 4} ${ROOM.above + HEIGHT + ROOM.below}`);
    const most = Math.max(ceiling, ...all.map((minute) => Math.max(minute[SPEAKING], minute[WAITING])));
    const y = (count) => HEIGHT * (1 - count / most);
    this.#drawing.replaceChildren(
      shape("rect", { class: "frame", x: 0, y: 0, width: wide, height: HEIGHT }),
      shape("path", { class: "speaking", d: `${steps(all, SPEAKING, wide, y)}V${HEIGHT}H0Z` }),
      shape("path", { class: "waiting", d: steps(all, WAITING, wide, y) }),
      shape("line", { class: "ceiling", x1: 0, x2: wide, y1: y(ceiling), y2: y(ceiling) }),
      ...all.flatMap((minute, place) => marks(minute, ((place + 0.5) * wide) / all.length)),
      words(0, -6, "start", `${most}`),
      words(wide, -6, "end", textOf("ceiling", { count: ceiling })),
      words(0, HEIGHT + MARKS + 18, "start", all[0][TIME]),
      words(wide, HEIGHT + MARKS + 18, "end", all.at(-1)[TIME]),
    );
  }
}

function steps(minutes, which, wide, y) {
  const each = wide / minutes.length;
  const step = (minute, place) => `${place ? "L" : "M"}${place * each},${y(minute[which])}H${(place + 1) * each}`;
  return minutes.map(step).join("");
}

/** Below the drawing, told apart by their shape: two bars for paused, a cross for refused. */
function marks(minute, x) {
  const bars = `M${x - 1.5},${HEIGHT + 3}v7M${x + 1.5},${HEIGHT + 3}v7`;
  const cross = `M${x - 2.5},${HEIGHT + 13}l5,5m0,-5l-5,5`;
  return [
    ...(minute[PAUSED] ? [shape("path", { class: "paused", d: bars })] : []),
    ...(minute[REFUSED] ? [shape("path", { class: "refused", d: cross })] : []),
  ];
}

function shape(name, attributes) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function words(x, y, anchor, text) {
  const made = shape("text", { x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}

function row(minute) {
  const made = document.createElement("tr");
  minute.forEach((value, place) => {
    const cell = document.createElement(place ? "td" : "th");
    if (!place) cell.scope = "row";
    cell.textContent = value;
    made.append(cell);
  });
  return made;
}
