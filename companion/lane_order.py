"""Where a turn waits: the first lane of the chain in force that its site may be served from."""

from typing import Any

from routing.chain import Route

ANY = 1_000_000
"""What the lane of a turn takes that has none."""

# The first lane of the chain that a site's people may be served from. A turn without any holds no lane's slot: it is
# admitted, and pauses.
HEAD = """
SELECT l.lane, l.takes
FROM unnest(%(lanes)s::text[], %(takes)s::int[], %(regions)s::text[]) WITH ORDINALITY AS l(lane, takes, region, place)
WHERE s.regions = '{}' OR l.region = ANY(s.regions)
ORDER BY l.place LIMIT 1
"""

# What has not been admitted yet goes to whatever chain is in force now. Rows that are being ended are left to it.
REROUTE = f"""
WITH mine AS (
    SELECT id FROM companion_turn WHERE owner = %(owner)s AND state = 'waiting'
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE companion_turn t
SET lane = coalesce(head.lane, ''), lane_takes = coalesce(head.takes, %(any)s),
    preset_ceiling = %(preset_ceiling)s, preset = %(preset)s, routing_version = %(version)s
FROM mine
JOIN companion_turn m ON m.id = mine.id
JOIN companion_conversation c ON c.id = m.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
LEFT JOIN LATERAL ({HEAD}) head ON true
WHERE t.id = mine.id
"""


def where(route: Route) -> dict[str, Any]:
    """Where turns are to wait: the chain as it stands, and the preset it belongs to."""
    return {
        "lanes": [lane.name for lane in route.lanes],
        "takes": [lane.max_in_flight for lane in route.lanes],
        "regions": [lane.region for lane in route.lanes],
        "any": ANY,
        "preset_ceiling": route.ceiling,
        "preset": route.preset,
        "version": route.version,
    }
