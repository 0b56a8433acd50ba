/** A watched conversation. Pure: frames and stored items in, what has changed out; no DOM, socket or clock. */

const LIVE = new Set(["waiting", "speaking"]);
const ENDINGS = new Set(["complete", "stopped", "paused", "refused", "handed_over", "safety", "held"]);

/** Whether a turn has not ended. */
export function isLive(turn) {
  return LIVE.has(turn.state);
}

/** Compare the places of two items: [turn, 0 for the turn itself or 1, milliseconds, number]. */
export function compare(a, b) {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3];
}

/** Items by `kind:id`. `take` and `merge` return {changed: [items], again}: `again` asks for the whole anew. */
export class Talk {
  #items = new Map();

  get(kind, id) {
    return this.#items.get(`${kind}:${id}`);
  }

  /** All items of a kind, in their order. */
  all(kind) {
    return [...this.#items.values()].filter((item) => item.kind === kind).sort((a, b) => compare(a.place, b.place));
  }

  /** The id of the newest turn; 0 for none. */
  get newestTurn() {
    return Math.max(0, ...this.all("turn").map((turn) => turn.id));
  }

  /** Add items as the service stores them. A live turn never loses words that this page has. */
  merge(items) {
    const changed = [];
    for (const item of items) {
      const known = this.get(item.kind, item.id);
      const isOlder = known && item.kind === "turn" && (known.seq > item.seq || (!isLive(known) && isLive(item)));
      const merged = isOlder ? { ...item, ...pick(known, ["reply", "seq", "state", "line", "openings"]) } : { ...known, ...item };
      merged.place = item.place ?? known?.place ?? this.#placeOf(item);
      this.#items.set(`${item.kind}:${item.id}`, merged);
      changed.push(merged);
    }
    return { changed, again: false };
  }

  /** Apply a frame of the conversation. Frames that say nothing of an item change nothing. */
  take(frame, at) {
    if (frame.type === "accepted") return this.#accepted(frame, at);
    if (frame.type === "words") return this.#words(frame);
    if (frame.type === "waiting" || frame.type === "still_here") return this.#alter(frame, (turn) => this.#line(turn, frame));
    if (frame.type === "opening") return this.#alter(frame, (turn) => opening(turn, frame));
    if (ENDINGS.has(frame.type)) return this.#alter(frame, (turn) => end(turn, frame));
    return { changed: [], again: false };
  }

  #accepted(frame, at) {
    if (this.get("turn", frame.turn)?.question) return { changed: [], again: false };
    const turn = { kind: "turn", id: frame.turn, key: frame.key, question: frame.question ?? frame.text ?? null, at, ...EMPTY };
    const { changed } = this.merge([{ ...turn, openings: [] }]);
    return { changed, again: turn.question === null };
  }

  #words(frame) {
    const turn = this.get("turn", frame.turn);
    if (!turn) return { changed: [], again: true };
    if (!isLive(turn) || frame.seq <= turn.seq) return { changed: [], again: false };
    if (frame.seq > turn.seq + 1) return { changed: [], again: true };
    Object.assign(turn, { state: "speaking", line: "", reply: turn.reply + frame.text, seq: frame.seq });
    return { changed: [turn], again: false };
  }

  #alter(frame, change) {
    const turn = this.get("turn", frame.turn);
    if (!turn) return { changed: [], again: true };
    if (!isLive(turn)) return { changed: [], again: false };
    const isMissing = change(turn) === false;
    return { changed: [turn], again: isMissing };
  }

  #line(turn, frame) {
    if (!turn.seq) turn.line = frame.line;
  }

  #placeOf(item) {
    if (item.kind === "turn") return [item.id, 0, 0, 0];
    return [this.newestTurn, 1, Date.parse(item.at) || 0, Number(item.id) || 0];
  }
}

const EMPTY = { reply: "", state: "waiting", reason: "", line: "", seq: 0 };

function opening(turn, frame) {
  if (!turn.openings.some((one) => one.kind === frame.kind)) turn.openings.push({ kind: frame.kind, line: frame.line });
  turn.line = "";
}

/** Returns false if words before the end are missing here. */
function end(turn, frame) {
  const isQuiet = frame.type === "held";
  Object.assign(turn, { state: isQuiet ? "handed_over" : frame.type, reason: isQuiet ? "quiet" : turn.reason });
  turn.line = frame.line ?? "";
  return (frame.seq ?? 0) <= turn.seq;
}

function pick(item, names) {
  return Object.fromEntries(names.map((name) => [name, item[name]]));
}
