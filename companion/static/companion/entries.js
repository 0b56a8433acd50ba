/** What stands beside the turns: words of a person, and drafted lines about who is there. Pure. */

const KINDS_OF_FRAMES = new Set(["said", "person", "help", "reading"]);

/** The entry that a frame carries; null for every other frame. `after` is null where the frame does not say it. */
export function readEntry(frame) {
  if (!KINDS_OF_FRAMES.has(frame.type) || typeof frame.id !== "number") return null;
  return createEntry({
    entry: frame.id,
    kind: frame.type === "person" ? frame.state : frame.type,
    name: frame.name,
    text: frame.text ?? frame.line,
    after: frame.after ?? null,
  });
}

/** Part what `hello` and history pages mix: {turns, entries}. Entries before the first turn follow turn `after`. */
export function partItems(items, after = 0) {
  const [turns, entries] = [[], []];
  for (const item of items) {
    if (item.id !== undefined) turns.push(item);
    else if (item.entry !== undefined) entries.push(createEntry({ ...item, after: turns.at(-1)?.id ?? after }));
  }
  return { turns, entries };
}

/** `id` is unique among turns and entries. */
function createEntry({ entry, kind, name = "", text = "", after }) {
  return { id: `entry-${entry}`, entry, kind, name, text, after };
}

/** The entries of one conversation, in order. */
export class Entries {
  #byId = new Map();

  all() {
    return [...this.#byId.values()].sort((a, b) => a.entry - b.entry);
  }

  get(id) {
    return this.#byId.get(id);
  }

  /** Add an entry. One that is here already changes its place at most. */
  add(entry, news) {
    const known = this.#byId.get(entry.id);
    if (known && (entry.after === null || known.after === entry.after)) return;
    if (known) known.after = entry.after;
    else this.#byId.set(entry.id, entry);
    news.changed.add(entry.id);
  }

  forget(id, news) {
    this.#byId.delete(id);
    news.gone.add(id);
  }
}
