/** What each frame about turns does to them. Pure. */

import { PAGE, isLive } from "./turn.js";

function hello(turns, frame, news) {
  const snapshots = frame.conversation.turns;
  const named = new Set(snapshots.map((snapshot) => snapshot.id));
  const known = turns.all();
  const first = snapshots.length ? snapshots[0].id : 0;
  // A service of the release before does not say whether there is more.
  const hasEarlier = frame.conversation.earlier ?? snapshots.length >= PAGE;
  // Away for more than a page: what we had no longer touches what we are told, so it goes.
  const touching = known.some((turn) => named.has(turn.id));
  for (const turn of known) {
    if (!named.has(turn.id) && (turn.id >= first || !touching)) turns.forget(turn.id, news);
  }
  if (!touching) turns.hasEarlier = hasEarlier;
  turns.resetAcknowledged();
  for (const snapshot of snapshots) {
    turns.settle(snapshot, news);
    if (isLive(snapshot)) turns.acknowledge(turns.get(snapshot.id), news, { now: true });
  }
}

/** Stored, here or in another tab: a turn we have not heard of is fetched. */
function accepted(turns, frame, news) {
  news.changed.add(turns.of(frame, news).id);
}

function waiting(turns, frame, news) {
  const turn = turns.of(frame, news);
  if (turn.state !== "waiting") return;
  Object.assign(turn, { line: frame.line, kind: "waiting" });
  news.changed.add(turn.id);
}

/** No word has come for a while: a line stands where the words will, until the first of them comes. */
function stillHere(turns, frame, news) {
  const turn = turns.of(frame, news);
  if (!isLive(turn) || turn.seq > 0) return;
  Object.assign(turn, { line: frame.line, kind: "still_here" });
  news.changed.add(turn.id);
}

function opening(turns, frame, news) {
  const turn = turns.of(frame, news);
  if (!isLive(turn) || turn.openings.some((one) => one.kind === frame.kind)) return;
  turn.openings.push({ kind: frame.kind, line: frame.line });
  turn.line = "";
  news.changed.add(turn.id);
}

function words(turns, frame, news) {
  const turn = turns.of(frame, news);
  if (!isLive(turn) || frame.seq <= turn.seq) return;
  if (frame.seq > turn.seq + 1) return turns.miss(turn, news);
  Object.assign(turn, { state: "speaking", line: "", reply: turn.reply + frame.text, seq: frame.seq });
  turns.acknowledge(turn, news);
  news.changed.add(turn.id);
}

function ended(turns, frame, news) {
  const turn = turns.of(frame, news);
  if (!isLive(turn)) return;
  // The words before the end are still on their way; they come again with the end after them.
  if (frame.type !== "paused" && (frame.seq ?? 0) > turn.seq) return turns.miss(turn, news);
  turns.end(turn, frame.type, frame.line);
  // One of the release before does not say that a refused question has not been read.
  turn.unread = frame.unread ?? frame.type === "refused";
  turns.acknowledge(turn, news, { now: true });
  news.changed.add(turn.id);
}

/** What each frame does: (turns, frame, news) => nothing. */
export const STEPS = {
  ...{ hello, accepted, waiting, opening, words },
  still_here: stillHere,
  ...{ complete: ended, stopped: ended, paused: ended, refused: ended },
};
