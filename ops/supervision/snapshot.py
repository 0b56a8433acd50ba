"""What all open screens of one process are shown: read once a round for the sites of all of them together."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection

from companion.supervision import flag_views, pauses
from ops.access import StaffAccess
from ops.supervision import frames, machines, people, reasons


@dataclass(frozen=True, kw_only=True, slots=True)
class DeskSnapshot:
    """People by conversation, flags by id, the pauses in force and the stated reasons in force, as parts of frames.

    An item that has not changed since the snapshot before is the same object, so that screens compare by identity.
    """

    sites: frozenset[int] = frozenset()
    at_s: float = float("-inf")
    """On the clock of the event loop."""
    people: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    nameless_people: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    flags: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    nameless_flags: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    pauses: tuple[dict[str, Any], ...] = ()
    reasons: tuple[dict[str, Any], ...] = ()
    offers: tuple[dict[str, Any], ...] = ()

    def people_for(self, access: StaffAccess) -> dict[int, dict[str, Any]]:
        """The people of the sites that this member of staff sees; without names at sites that are not their own."""
        return _choose(self.people, self.nameless_people, access)

    def flags_for(self, access: StaffAccess) -> dict[int, dict[str, Any]]:
        """The flags of these sites, in the same way."""
        return _choose(self.flags, self.nameless_flags, access)

    def pauses_for(self, access: StaffAccess) -> list[dict[str, Any]]:
        """The pauses for everyone, for these sites, and for the people of these sites who are here."""
        participants = {item["participant"] for item in self.people.values() if item["site"] in access.sites}
        about = {"everyone": {0}, "site": access.sites, "person": participants}
        return [pause for pause in self.pauses if pause["id"] in about[pause["scope"]]]

    def reasons_for(self, access: StaffAccess) -> list[dict[str, Any]]:
        """Who reads conversations of these sites without supervising them."""
        return [reason for reason in self.reasons if reason["site"] in access.sites]

    def offers_for(self, access: StaffAccess) -> list[dict[str, Any]]:
        """Who is asked on which machine of the reader's own sites, and what became of it."""
        return [offer for offer in self.offers if offer["site"] in access.supervised]


async def read_snapshot(
    connection: AsyncConnection[Any],
    sites: Collection[int],
    *,
    before: DeskSnapshot,
    writing: Mapping[int, str | None],
    at_s: float,
) -> DeskSnapshot:
    """Read what screens of these sites show. Raises psycopg.Error."""
    async with connection.cursor() as cursor:
        here = await people.read_people(cursor, sites)
        flags = await flag_views.list_open(cursor, sites)
        open_pauses = await pauses.read_open(cursor)
        readers = await people.read_readers(cursor)
        in_force = await reasons.list_in_force(cursor, sites)
        offers = await machines.read_offers(cursor, sites)
    items = people.build_items(here, flags=flags, open_pauses=open_pauses, readers=readers, writing=writing)
    return DeskSnapshot(
        sites=frozenset(sites),
        at_s=at_s,
        people=_keep_equal(items, before.people),
        nameless_people=_keep_equal(
            {number: people.hide_name(item) for number, item in items.items()}, before.nameless_people
        ),
        flags=_keep_equal({view.id: frames.flag(view) for view in flags}, before.flags),
        nameless_flags=_keep_equal(
            {view.id: frames.flag(view, with_name=False) for view in flags}, before.nameless_flags
        ),
        pauses=tuple(frames.pause(view) for view in open_pauses),
        reasons=tuple(
            {
                "conversation": one.conversation,
                "participant": one.participant,
                "site": one.site,
                "by": one.name,
                "reason": one.reason,
                "at": one.at.isoformat(),
                "until": one.until.isoformat(),
            }
            for one in in_force
        ),
        offers=tuple(offers),
    )


def _choose(
    named: Mapping[int, dict[str, Any]], nameless: Mapping[int, dict[str, Any]], access: StaffAccess
) -> dict[int, dict[str, Any]]:
    return {
        number: item if item["site"] in access.supervised else nameless[number]
        for number, item in named.items()
        if item["site"] in access.sites
    }


def _keep_equal(
    items: dict[int, dict[str, Any]], before: Mapping[int, dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    return {number: kept if (kept := before.get(number)) == item else item for number, item in items.items()}
