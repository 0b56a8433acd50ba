"""Flags for a terminal: ids, names, tiers, states and times, and no word of anyone. Uses Django's connection."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from companion.supervision.flag_views import LIST_NOT_CLOSED, READ_LAST, FlagView, build_view
from ops.database import fetch_all

MAX_LISTED = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagLine:
    """A flag as a command prints it."""

    view: FlagView

    def to_document(self) -> dict[str, Any]:
        """The facts for JSON; times as ISO 8601."""
        view = self.view
        return {
            "id": view.id,
            "tier": view.tier,
            "kind": view.kind,
            "state": view.state,
            "site": view.site,
            "site_name": view.site_name,
            "participant": view.participant,
            "name": view.participant_name,
            "conversation": view.conversation,
            "count": view.count,
            "stage": view.stage,
            "opened_at": _iso(view.opened_at),
            "seen_at": _iso(view.seen_at),
            "accepted_at": _iso(view.accepted_at),
            "closed_at": _iso(view.closed_at),
            "owner": view.owner_name,
            "handed_to": view.handed_to_name,
            "outcome": view.outcome,
        }


def list_flags(sites: Sequence[int], *, with_closed: bool = False) -> list[FlagLine]:
    """The flags of these sites that are not closed; or the newest of each site, closed ones too."""
    query = READ_LAST if with_closed else LIST_NOT_CLOSED
    rows = fetch_all(query, {"sites": list(sites), "limit": MAX_LISTED})
    return [FlagLine(view=build_view(row)) for row in rows]


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
