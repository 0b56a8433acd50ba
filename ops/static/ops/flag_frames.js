/** A flag as frames have it, with the names that the page's parts use. Pure. */

/** {id, tier, kind, conversation, name, site_name, opened_at, count, state, owner, owner_name, handed_to, handed_to_name}. */
export function flagOf(frame) {
  return {
    id: frame.id,
    tier: frame.tier,
    kind: frame.kind,
    turn: frame.turn ?? null,
    conversation: frame.conversation,
    name: frame.name ?? frame.participant_name ?? "",
    site_name: frame.site_name ?? "",
    opened_at: frame.opened_at,
    count: frame.count ?? 1,
    state: frame.state,
    owner: frame.owner ?? null,
    owner_name: frame.owner_name ?? "",
    handed_to: frame.handed_to ?? null,
    handed_to_name: frame.handed_to_name ?? "",
    outcome: frame.outcome ?? "",
  };
}
