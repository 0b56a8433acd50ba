"""What the desk shows of shared machines: their state, who is on each, and what became of offers.

One statement for sockets and pages. No word of anyone.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from companion.machines.offers import LIST_NEWS, OfferView, build_offer_view, news_parameters
from companion.machines.pairing import OPEN_S
from companion.rows import Row
from companion.visits.conditions import IS_LOCKED

MAX_MACHINES = 300

_MACHINES = f"""
SELECT m.id, m.name, m.site_id, s.name, m.seen_at, p.id, p.name, c.id,
       CASE WHEN m.copied_at IS NOT NULL THEN 'copied'
            WHEN m.token_hash = '' THEN 'unpaired'
            WHEN p.id IS NOT NULL THEN CASE WHEN v.is_locked THEN 'locked' ELSE 'in_use' END
            WHEN m.seen_at > clock_timestamp() - make_interval(secs => %(waiting_s)s) THEN 'waits'
            ELSE 'away' END
FROM companion_machine m
JOIN companion_site s ON s.id = m.site_id
LEFT JOIN LATERAL (
    SELECT v.participant_id, {IS_LOCKED} AS is_locked FROM companion_visit v
    WHERE v.machine_id = m.id AND v.ended_at IS NULL AND v.expires_at > clock_timestamp()
    ORDER BY v.opened_at DESC LIMIT 1
) v ON true
LEFT JOIN companion_participant p ON p.id = v.participant_id
LEFT JOIN companion_conversation c ON c.participant_id = p.id
WHERE m.site_id = ANY(%(sites)s) AND m.withdrawn_at IS NULL {{condition}}
ORDER BY s.name, lower(m.name) LIMIT %(most)s
"""
READ_MACHINES = _MACHINES.format(condition="")
READ_MACHINE = _MACHINES.format(condition="AND m.id = %(machine)s")


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineView:
    """A machine of a site. `state`: waits, in_use, locked, away, unpaired, copied. `participant`: who is on it."""

    id: UUID
    name: str
    site: int
    site_name: str
    seen_at: datetime | None
    participant: int | None
    participant_name: str | None
    conversation: int | None
    state: str


def machines_parameters(sites: Collection[int]) -> dict[str, Any]:
    """The parameters of `READ_MACHINES`; `READ_MACHINE` takes `machine` as well."""
    return {"sites": sorted(sites), "waiting_s": OPEN_S, "most": MAX_MACHINES}


def build_machine_view(row: Row) -> MachineView:
    """The machine in a row of `READ_MACHINES`."""
    return MachineView(**dict(zip(MachineView.__dataclass_fields__, row, strict=True)))


async def read_offers(cursor: AsyncCursor[Row], sites: Collection[int]) -> list[dict[str, Any]]:
    """The offers of the last minutes at these sites as parts of frames, newest first."""
    await cursor.execute(LIST_NEWS, news_parameters(sites))
    return build_offer_items(build_offer_view(row) for row in await cursor.fetchall())


def build_offer_items(offers: Iterable[OfferView]) -> list[dict[str, Any]]:
    """Offers as parts of frames. `state`: open, yes, no, taken_back, expired, gone."""
    return [
        {
            "id": one.id,
            "machine": str(one.machine),
            "machine_name": one.machine_name,
            "site": one.site,
            "participant": one.participant,
            "name": one.name,
            "conversation": one.conversation,
            "by": one.by_name,
            "at": one.offered_at.isoformat(),
            "state": one.state,
        }
        for one in offers
    ]
