/** How each frame changes the turns. Pure. */

import { partItems, readEntry } from "./entries.js";
import { PAGE, isLive } from "./turn.js";

function hello(turns, frame, news) {
  const { turns: snapshots, entries } = partItems(frame.conversation.turns);
  const named = new Set(snapshots.map((snapshot) => snapshot.id));
  const known = turns.all();
  const first = snapshots.length ? snapshots[0].id : 0;
  // The previous release does not send `earlier`.
  const hasEarlier = frame.conversation.earlier ?? snapshots.length >= PAGE;
  // After an absence of more than a page there is a gap, so the older turns are dropped.
  const touching = known.some((turn) => named.has(turn.id));
  const namedEntries = new Set(entries.map((entry) => entry.id));
  for (const entry of turns.entries.all()) {
    if (!namedEntries.has(entry.id) && (entry.after >= first || !touching)) turns.entries.forget(entry.id, news);
  }
  for (const turn of known) {
    if (!named.has(turn.id) && (turn.id >= first || !touching)) turns.forget(turn.id, news);
  }
  if (!touching) turns.hasEarlier = hasEarlier;
  turns.resetAcknowledged();
  for (const snapshot of snapshots) {
    turns.settle(snapshot, news);
    if (isLive(snapshot)) turns.acknowledge(turns.get(snapshot.id), news, { now: true });
  }
  for (const entry of entries) turns.entries.add(entry, news);
  // The previous release does not send `quiet`, and knows no frames about entries.
  turns.asksForEntries = "quiet" in frame.conversation;
}

/** A person's words, or a drafted line beside the turns: after the newest turn, unless the frame says where. */
function entry(turns, frame, news) {
  const one = readEntry(frame);
  if (!one) return;
  const known = turns.entries.get(one.id);
  one.after ??= known ? known.after : (turns.all().at(-1)?.id ?? 0);
  turns.entries.add(one, news);
  if (turns.asksForEntries) news.wishes.push({ type: "ack", entry: one.entry });
}

/** A message is stored, of this page or of another tab; an unknown turn is fetched. */
function accepted(turns, frame, news) {
  news.changed.add(turns.of(frame, news).id);
}

function waiting(turns, frame, news) {
  const turn = turns.of(frame, news);
  if (turn.state !== "waiting") return;
  Object.assign(turn, { line: frame.line, kind: "waiting" });
  news.changed.add(turn.id);
}

/** No word for some seconds: a line is shown until the first word replaces it. */
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
  // Earlier chunks are missing: they are requested, and the end is sent again after them.
  if (frame.type !== "paused" && (frame.seq ?? 0) > turn.seq) return turns.miss(turn, news);
  turns.end(turn, STATES[frame.type] ?? frame.type, frame.line);
  turn.kind = frame.kind ?? "";
  // The previous release does not send `unread` with `refused`.
  turn.unread = frame.unread ?? frame.type === "refused";
  turns.acknowledge(turn, news, { now: true });
  news.changed.add(turn.id);
}

/** The state that a closing frame of another name leaves: what is written while the companion is quiet is for staff. */
const STATES = { held: "handed_over" };

/** What each frame does: (turns, frame, news) => nothing. */
export const STEPS = {
  ...{ hello, accepted, waiting, opening, words },
  still_here: stillHere,
  ...{ complete: ended, stopped: ended, paused: ended, refused: ended },
  ...{ safety: ended, held: ended, handed_over: ended },
  ...{ said: entry, person: entry, help: entry, reading: entry },
};
