"""Selecting presets in tests, over the rehearsal provider's lanes; and normal again afterwards."""

import io
from datetime import datetime, timedelta
from typing import Any

from django.core.management import call_command
from django.utils import timezone

from companion.models import Process, Turn
from ops.models import LaneProbe
from ops.models import Selection as Row
from ops.selections import rows
from ops.selections.selector import SelectionRequest, Selector
from routing.lanes import NORMAL, rehearsal_routing
from routing.selection import Concern, Selection
from tests.patience import wait_until
from tests.people import in_database

ROUTING = rehearsal_routing("http://127.0.0.1:1/v1")


def selector(*concerns: Concern, copy_version: int = 0) -> Selector:
    """One to which nothing speaks against any preset, unless it is said here."""
    return Selector(ROUTING, concerns_about=lambda preset: concerns, copy_version=lambda: copy_version)


def select(preset: str = "local_only", **choice: Any) -> Selection:
    """Ines selects a preset."""
    made = SelectionRequest(preset=preset, by="Ines", reason="A test", **choice)
    return in_database(lambda: selector().select(made))


def newest() -> Selection:
    """The last row."""
    return in_database(rows.read_newest)


def rows_since(version: int) -> list[Selection]:
    """All rows above this version, oldest first."""
    return in_database(
        lambda: [rows.from_row(row) for row in Row.objects.filter(version__gt=version).order_by("version")]
    )


def insert(
    preset: str,
    *,
    at: datetime | None = None,
    lasts: timedelta = timedelta(hours=1),
    by: str = "Ines",
    reason: str = "A test",
) -> int:
    """A row that was not checked, without a ring of the bell; returns its version."""
    at = at or timezone.now()
    version = newest().version + 1
    facts = {"version": version, "preset": preset, "by": by, "reason": reason, "at": at}
    ends = None if preset == NORMAL else at + lasts
    in_database(lambda: Row.objects.create(**facts, expires_at=ends))
    return version


def as_if_no_lane_had_ever_answered() -> None:
    """Whatever other tests have had them answer."""
    in_database(lambda: LaneProbe.objects.all().delete())
    in_database(lambda: Turn.objects.filter(lane__in=ROUTING.lanes).update(lane="of another test"))


def back_to_normal() -> None:
    """So that the next test begins as the release comes."""
    in_database(lambda: selector().revert(by="Ines", reason="The test is over"))


def all_serve(version: int) -> bool:
    """Whether every live web process has said that it serves this version."""
    lately = timezone.now() - timedelta(seconds=5)
    live = Process.objects.filter(beat_at__gt=lately).exclude(routing_version=version)
    return not in_database(live.exists)


def everybody_follows() -> None:
    """Wait until every live process serves what was selected last: other tests share some of them."""
    wait_until(lambda: all_serve(newest().version), within_s=20)


def route(*arguments: str) -> str:
    """`manage.py route`, and what it wrote."""
    written = io.StringIO()
    in_database(lambda: call_command("route", *arguments, stdout=written))
    return written.getvalue()
