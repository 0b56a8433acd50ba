/** One turn as this page knows it. Pure. */

/** Turns in one page of history: as many as `hello` carries. */
export const PAGE = 50;

const LIVE = new Set(["waiting", "speaking"]);

/** Whether a turn has not ended yet. */
export function isLive(turn) {
  return LIVE.has(turn.state);
}

/** A turn of which only the id is known; `question` is null until it is read. */
export function createTurn(id) {
  return { id, key: null, question: null, openings: [], reply: "", state: "waiting", line: "", seq: 0 };
}
