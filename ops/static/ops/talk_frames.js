/** Frames and snapshots of a watched conversation as items. Pure. */

const LINES = { help: "help", disclosure: "disclosure", reading: "reading" };

/** The items of a snapshot: turns, and entries that stand after the turn before them. */
export function itemsOf(snapshots) {
  let after = 0;
  return snapshots.map((one) => {
    if ("entry" in one) return { ...one, kind: "entry", id: one.entry, entry: one.kind, place: [after, 1, Date.parse(one.at)] };
    after = one.id;
    return { ...one, kind: "turn", place: [one.id, 0, 0] };
  });
}

/** The entry that a frame tells of, after the newest turn; null for other frames. */
export function entryOf(frame, newestTurn) {
  const at = frame.at ?? new Date().toISOString();
  const place = [newestTurn, 1, Date.parse(at)];
  const rest = { id: frame.id, name: frame.name ?? "", at, place, kind: "entry" };
  if (frame.type === "said") return { ...rest, entry: "said", text: frame.text };
  if (frame.type === "person") return { ...rest, entry: frame.state, text: frame.line };
  if (LINES[frame.type] && frame.id) return { ...rest, entry: frame.type, text: frame.line };
  return null;
}
