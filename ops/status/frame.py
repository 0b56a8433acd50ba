"""PURE. What the page is told over its socket: everything at first, then only what has changed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ops.alerts.rows import Told
from ops.alerts.shown import shown
from ops.status import texts
from ops.status.held import Held, of_sites
from ops.status.hour import Minute


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """The figures of one moment."""

    figures: Mapping[str, Any]
    held: tuple[Held, ...]
    hour: tuple[Minute, ...]
    alerts: tuple[Told, ...]
    at: datetime


def now(seen: Seen, *, sites: Collection[int], operator: bool, place: str) -> dict[str, Any]:
    """Everything that somebody who may see these sites is shown. `place` is where the story of turn 0 would be."""
    return {
        "alerts": shown(seen.alerts, operator=operator, sites=sites),
        "texts": texts.texts(seen.figures, at=seen.at),
        "level": texts.level(seen.figures),
        "ceiling": seen.figures["ceiling"],
        "held": texts.questions(of_sites(seen.held, sites), place=place),
        "processes": texts.processes(seen.figures),
        "reasons": texts.reasons(seen.figures),
        "lanes": texts.lanes(seen.figures),
        "alarms": texts.alarms(seen.figures),
        "hour": [minute.row() for minute in seen.hour],
    }


def since(before: Mapping[str, Any] | None, told: Mapping[str, Any]) -> dict[str, Any]:
    """A frame with the parts that are not as they were `before`; the texts, and so the time, always."""
    kept = before or {}
    changed = {name: part for name, part in told.items() if name == "texts" or kept.get(name) != part}
    return {"type": "now", **changed}
