/** Requests missing frames again: a frame may be lost, and so may the answer to a request. */

import { isLive } from "./turn.js";
import { catchUpOn } from "./turns.js";

const LOOK_EVERY_MS = 1_000;
const GAP_MS = 3_000;
const SPEAKING_MS = 15_000;
const WAITING_MS = 30_000;
const LONGEST_MS = 60_000;

/** Remembers since when a live turn has not changed, and requests it at growing intervals. */
export class Overdue {
  #since = new Map();

  /** The frames to send `now`, a time in milliseconds. */
  frames(turns, now) {
    const missing = new Set(turns.missing());
    const live = turns.all().filter(isLive);
    const due = live.filter((turn) => this.#isDue(turn, missing.has(turn), now));
    const ids = new Set(live.map((turn) => turn.id));
    for (const id of this.#since.keys()) if (!ids.has(id)) this.#since.delete(id);
    return due.map(catchUpOn);
  }

  #isDue(turn, isMissing, now) {
    const stands = `${turn.state} ${turn.seq} ${turn.openings.length} ${isMissing}`;
    const known = this.#since.get(turn.id);
    if (known?.stands !== stands) {
      const patience = isMissing ? GAP_MS : turn.state === "speaking" ? SPEAKING_MS : WAITING_MS;
      this.#since.set(turn.id, { stands, patience, at: now });
      return false;
    }
    if (now - known.at < known.patience) return false;
    known.at = now;
    known.patience = Math.min(known.patience * 2, LONGEST_MS);
    return true;
  }
}

/** Check every second while the connection is up; `turns()` returns the turns of the page. */
export function watchOverdue({ line, composer, turns }) {
  const overdue = new Overdue();
  setInterval(() => {
    if (!line.isUp) return;
    overdue.frames(turns(), Date.now()).forEach((frame) => line.send(frame));
    composer.resendLate();
  }, LOOK_EVERY_MS);
}
