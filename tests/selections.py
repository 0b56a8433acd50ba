"""Select presets in tests, over the rehearsal provider's lanes, and `normal` afterwards."""

import io
from datetime import datetime, timedelta
from typing import Any

from django.core.management import call_command
from django.utils import timezone

from companion.models import Process, Turn
from ops.models import LaneProbe, SelectionRow
from ops.selections import rows
from ops.selections.selector import SelectionRequest, Selector
from routing.lanes import NORMAL, rehearsal_routing
from routing.selection import Concern, Selection
from tests.patience import wait_until
from tests.people import in_database

ROUTING = rehearsal_routing("http://127.0.0.1:1/v1")


def selector(*concerns: Concern, copy_version: int = 0) -> Selector:
    """A selector that finds the given concerns, none by default, against every preset."""
    return Selector(ROUTING, concerns_about=lambda preset: concerns, copy_version=lambda: copy_version)


def select(preset: str = "local_only", **choice: Any) -> Selection:
    """Select a preset as the operator Ines."""
    request = SelectionRequest(preset=preset, by="Ines", reason="A test", **choice)
    return in_database(lambda: selector().select(request))


def newest() -> Selection:
    """The newest selection."""
    return in_database(rows.read_newest)


def rows_since(version: int) -> list[Selection]:
    """All rows above this version, oldest first."""
    return in_database(
        lambda: [
            rows.from_row(row) for row in SelectionRow.objects.filter(version__gt=version).order_by("version")
        ]
    )


def insert(
    preset: str,
    *,
    at: datetime | None = None,
    lasts: timedelta = timedelta(hours=1),
    by: str = "Ines",
    reason: str = "A test",
) -> int:
    """Insert a selection without checks or a doorbell; returns its version."""
    at = at or timezone.now()
    version = newest().version + 1
    facts = {"version": version, "preset": preset, "by": by, "reason": reason, "at": at}
    ends = None if preset == NORMAL else at + lasts
    in_database(lambda: SelectionRow.objects.create(**facts, expires_at=ends))
    return version


def forget_lane_answers() -> None:
    """Delete the lanes' answered probes and detach the turns of other tests from them."""
    in_database(lambda: LaneProbe.objects.all().delete())
    in_database(lambda: Turn.objects.filter(lane__in=ROUTING.lanes).update(lane="of another test"))


def select_normal() -> None:
    """Revert to `normal`, the selection every test begins with."""
    in_database(lambda: selector().revert(by="Ines", reason="The test is over"))


def is_served_by_all(version: int) -> bool:
    """Whether every live web process reports that it serves this version."""
    live_since = timezone.now() - timedelta(seconds=5)
    lagging = Process.objects.filter(beat_at__gt=live_since).exclude(routing_version=version)
    return not in_database(lagging.exists)


def wait_until_selection_is_served() -> None:
    """Wait until every live web process, shared ones included, serves the newest selection."""
    wait_until(lambda: is_served_by_all(newest().version), within_s=20)


def route(*arguments: str) -> str:
    """Run `manage.py route`; returns its output."""
    output = io.StringIO()
    in_database(lambda: call_command("route", *arguments, stdout=output))
    return output.getvalue()
