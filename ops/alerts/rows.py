"""The rows of alerts. The same thing is one row, and counts, until somebody has said that they have seen it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models.functions import Now

from ops.alerts.kinds import MEANINGS, Kind
from ops.alerts.lasting import BY_ITSELF
from ops.alerts.statements import OPEN, RAISE, facts
from ops.models import Alert

__all__ = ["BY_ITSELF", "Told", "acknowledge", "close", "in_words", "open_alerts", "raise_alert", "told"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """An open alert, in words for a person."""

    id: int
    kind: str
    says: str
    do: str
    runbook: str
    first_at: datetime
    last_at: datetime
    count: int
    site: int | None = None
    """Staff of this site are told as well as operators."""
    turn: int | None = None


def raise_alert(kind: Kind, about: str) -> None:
    """Tell operators. Uses Django's connection."""
    with connection.cursor() as cursor:
        cursor.execute(RAISE, facts(kind, about))


def close(kind: Kind, about: str | None = None, *, before: datetime | None = None, but: str = "") -> None:
    """The cause is over: close what is open of this kind, and about this if it is named.

    `before`: only what last came before that moment. `but`: not what is about this.
    """
    gone = Alert.objects.filter(kind=kind, acknowledged_at=None).exclude(about=but[:100])
    if about is not None:
        gone = gone.filter(about=about[:100])
    if before is not None:
        gone = gone.filter(last_at__lt=before)
    gone.update(acknowledged_at=Now(), acknowledged_by=BY_ITSELF)


def open_alerts() -> list[Told]:
    """What nobody has seen yet, the newest first. Uses Django's connection."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN)
        return in_words(cursor.fetchall())


def in_words(found: Iterable[tuple[Any, ...]]) -> list[Told]:
    """What OPEN found."""
    names = ("id", "kind", "about", "first_at", "last_at", "count", "site_id", "turn")
    return [told(Alert(**dict(zip(names, row, strict=True)))) for row in found]


def told(row: Alert) -> Told:
    """The alert in words. A kind that another release has raised is shown as it is."""
    kind = Kind(row.kind) if row.kind in set(Kind) else None
    meaning = MEANINGS[kind] if kind else None
    says = meaning.of(row.about) if meaning else f"{row.kind}: {row.about}"
    return Told(
        id=row.pk,
        kind=row.kind,
        says=f"{says} Last: turn {row.turn}." if row.turn else says,
        do=meaning.do if meaning else "",
        runbook=f"ops/runbooks/{meaning.runbook}" if meaning else "",
        first_at=row.first_at,
        last_at=row.last_at,
        count=row.count,
        site=row.site_id,
        turn=row.turn,
    )


def acknowledge(alert: int, *, by: str, at: datetime) -> bool:
    """Somebody has seen it. False: somebody else had, or there is no such alert."""
    seen = Alert.objects.filter(id=alert, acknowledged_at=None)
    return seen.update(acknowledged_at=at, acknowledged_by=by[:150]) == 1
