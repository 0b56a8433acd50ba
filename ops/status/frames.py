"""PURE. What the dashboard is sent: everything at first, then the parts that changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ops.access import StaffAccess
from ops.alerts.formatting import format_banner
from ops.alerts.rows import AlertView
from ops.status import text
from ops.status.held_questions import HeldQuestion, filter_by_sites
from ops.status.minutes import Minute


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusSnapshot:
    """The figures of one moment, of all sites. `figures` is the document of /ops/status.json."""

    figures: Mapping[str, Any]
    held: tuple[HeldQuestion, ...]
    hour: tuple[Minute, ...]
    alerts: tuple[AlertView, ...]
    at: datetime


def build_dashboard(snapshot: StatusSnapshot, access: StaffAccess, *, turn_url: str) -> dict[str, Any]:
    """The dashboard for a member of staff. `turn_url` is the address of turn 0."""
    figures = snapshot.figures
    return {
        "alerts": format_banner(snapshot.alerts, operator=access.is_operator, sites=access.sites),
        "texts": text.format_texts(figures, at=snapshot.at),
        "level": text.choose_level(figures),
        "ceiling": figures["ceiling"],
        "held": text.format_held(filter_by_sites(snapshot.held, access.sites), access, turn_url=turn_url),
        "processes": text.format_processes(figures),
        "reasons": text.format_reasons(figures),
        "lanes": text.format_lanes(figures),
        "alarms": text.format_alarms(figures),
        "hour": [minute.to_row() for minute in snapshot.hour],
    }


def build_frame(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> dict[str, Any]:
    """A frame with the parts of `now` that differ from `before`, and always the texts, which hold the time."""
    known = before or {}
    changed = {name: part for name, part in now.items() if name == "texts" or known.get(name) != part}
    return {"type": "now", **changed}
