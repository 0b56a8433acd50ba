"""The order in which turns wait for lanes, and the first lane of it that a site may be served from."""

from dataclasses import replace
from typing import Any

from routing.chain import Breakers, Route
from routing.contracts import Lane

UNLIMITED_TURNS = 1_000_000
"""Turns that the lane of a turn without a lane takes."""

# A turn whose site none of the lanes may serve has no lane. It holds no lane's slot, so it is admitted, and pauses.
FIRST_LANE = """
SELECT l.lane, l.takes
FROM unnest(%(lanes)s::text[], %(takes)s::int[], %(regions)s::text[]) WITH ORDINALITY AS l(lane, takes, region, place)
WHERE s.regions = '{}' OR l.region = ANY(s.regions)
ORDER BY l.place LIMIT 1
"""

# Rows that another transaction is closing are skipped.
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
LEFT JOIN LATERAL ({FIRST_LANE}) head ON true
WHERE t.id = mine.id
"""


def order_lanes(route: Route, breakers: Breakers) -> Route:
    """The route as waiting turns should see it: lanes that may be called first, in the order of the chain.

    A lane that has just recovered comes after the lanes at full capacity: its capacity grows each second.
    """
    lanes = [replace(lane, max_in_flight=breakers.takes(lane)) for lane in route.lanes]
    full_capacity = {lane.name: lane.max_in_flight for lane in route.lanes}

    def sort_key(lane: Lane) -> tuple[bool, bool]:
        return breakers.bars(lane.name) is not None, lane.max_in_flight < full_capacity[lane.name]

    return replace(route, lanes=tuple(sorted(lanes, key=sort_key)))


def lane_order_parameters(route: Route) -> dict[str, Any]:
    """The parameters of `FIRST_LANE` and `REROUTE`: the lanes of the route in order, and its preset."""
    return {
        "lanes": [lane.name for lane in route.lanes],
        "takes": [lane.max_in_flight for lane in route.lanes],
        "regions": [lane.region for lane in route.lanes],
        "any": UNLIMITED_TURNS,
        "preset_ceiling": route.ceiling,
        "preset": route.preset,
        "version": route.version,
    }
