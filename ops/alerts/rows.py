"""The rows of alerts. The same cause is one row, and counts, until an operator acknowledges it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models.functions import Now
from django.utils.translation import gettext

from ops.alerts.kinds import AlertKind
from ops.alerts.statements import CLOSED_BY_SERVICE, LIST_OPEN, RAISE, raise_params
from ops.database import execute, fetch_all
from ops.models import Alert

_KINDS = {kind.value: kind for kind in AlertKind}


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertView:
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
    """Staff of this site read the alert as well as operators."""
    turn: int | None = None


def raise_alert(kind: AlertKind, about: str, *, site: int | None = None) -> None:
    """Raise an alert, or count one that is open. Staff of `site` read it too. Uses Django's connection."""
    execute(RAISE, raise_params(kind, about, site=site))


def close_alert(
    kind: AlertKind, about: str | None = None, *, before: datetime | None = None, but: str = ""
) -> None:
    """Close the open alerts of this kind, because their cause is over; with `about`, only those about it.

    `before`: only those last raised before that moment. `but`: not those about this.
    """
    open_rows = Alert.objects.filter(kind=kind, acknowledged_at=None).exclude(about=but[:100])
    if about is not None:
        open_rows = open_rows.filter(about=about[:100])
    if before is not None:
        open_rows = open_rows.filter(last_at__lt=before)
    # The row stays: it says when the cause was last there, and delays the next alert of the same cause.
    open_rows.update(acknowledged_at=Now(), acknowledged_by=CLOSED_BY_SERVICE)


def list_open_alerts() -> list[AlertView]:
    """The alerts that are not acknowledged, newest first, at most `MAX_LISTED`. Uses Django's connection."""
    return build_views(fetch_all(LIST_OPEN))


def build_views(rows: Iterable[tuple[Any, ...]]) -> list[AlertView]:
    """The views of the rows that LIST_OPEN gives."""
    names = ("id", "kind", "about", "first_at", "last_at", "count", "site_id", "turn")
    return [build_view(Alert(**dict(zip(names, row, strict=True)))) for row in rows]


def build_view(row: Alert) -> AlertView:
    """The alert in words. A kind that another release has raised is shown as it is stored."""
    kind = _KINDS.get(row.kind)
    text = kind.describe(row.about) if kind else f"{row.kind}: {row.about}"
    return AlertView(
        id=row.pk,
        kind=row.kind,
        says=gettext("{sentence} Last: turn {number}.").format(sentence=text, number=row.turn)
        if row.turn
        else text,
        do=gettext(kind.do) if kind else "",
        runbook=f"ops/runbooks/{kind.runbook}" if kind else "",
        first_at=row.first_at,
        last_at=row.last_at,
        count=row.count,
        site=row.site_id,
        turn=row.turn,
    )


def acknowledge(alert: int, *, by: str, at: datetime) -> bool:
    """Mark an alert as seen. False if it was acknowledged before, or does not exist."""
    # Two operators may press at once: the first one's name stays.
    seen = Alert.objects.filter(id=alert, acknowledged_at=None)
    return seen.update(acknowledged_at=at, acknowledged_by=by[:150]) == 1
