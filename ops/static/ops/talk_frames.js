/** Frames and snapshots of a watched conversation as items. Pure. */

const LINES = { help: "help", reading: "reading" };

/** The items of a snapshot: turns, and entries that stand after the turn before them. */
export function itemsOf(snapshots) {
  let after = 0;
  return snapshots.map((one) => {
    if ("entry" in one) return { ...one, kind: "entry", id: one.entry, entry: one.kind, place: [after, 1, Date.parse(one.at), one.entry] };
    after = one.id;
    return { ...one, kind: "turn", place: [one.id, 0, 0, 0] };
  });
}

/**
 * The entry that a frame tells of; null for other frames. `after` [turn, milliseconds] is where the conversation ends: a
 * frame without a time is of now, but the clock of this machine is not the service's.
 */
export function entryOf(frame, [turn, ms]) {
  const place = [turn, 1, frame.at ? Date.parse(frame.at) : ms, frame.id ?? 0];
  const rest = { id: frame.id, name: frame.name ?? "", at: frame.at ?? new Date().toISOString(), place, kind: "entry" };
  if (frame.type === "said") return { ...rest, entry: "said", text: frame.text };
  if (frame.type === "person") return { ...rest, entry: frame.state, text: frame.line };
  if (LINES[frame.type] && frame.id) return { ...rest, entry: frame.type, text: frame.line };
  return null;
}
