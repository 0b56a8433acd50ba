/** What a person is doing, from an item of a `people` frame. Pure. */

/** A key of the words table: who speaks comes first, then what the turn does. */
export function doingOf(item) {
  if (item.person) return "person";
  if (item.quiet) return "quiet";
  if (item.paused) return "staff_pause";
  return item.turn;
}

/** Flagged people first, then by site and name, so that an item keeps its place while its turn changes. */
export function inOrder(items) {
  return [...items].sort((a, b) => rank(a) - rank(b) || compare(a.site_name, b.site_name) || compare(a.name, b.name) || a.conversation - b.conversation);
}

function rank(item) {
  return { red: 0, amber: 1 }[item.tier] ?? 2;
}

function compare(a, b) {
  return a.localeCompare(b);
}
