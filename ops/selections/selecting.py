"""Selecting a preset: the only code by which a person moves traffic. One row, one audit entry, one ring of the bell.

Errors: `SelectionRefused` and its kinds, each a sentence with the mend. Nothing is changed then.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone

from companion.models import Process
from companion.notifications import NOTIFY, SelectionChanged, notify_parameters
from ops import audit, names
from ops.changes import Refused
from ops.models import Selection as Row
from ops.selections.pins import LOCK
from routing import selection
from routing.errors import SelectionInvalid
from routing.lanes import NORMAL, Routing
from routing.selection import COMPILED_IN, LASTS, LASTS_AT_MOST, Concern, Selection

log = logging.getLogger(__name__)

SHORTEST = timedelta(minutes=1)


class SelectionRefused(Exception):
    """Nothing was selected. The text says why, and the mend."""


class Moved(SelectionRefused):
    """Somebody else has selected since one looked."""


class AsksTwice(SelectionRefused):
    """It takes a second yes. `concerns` say why."""

    def __init__(self, concerns: Sequence[Concern]) -> None:
        super().__init__(" ".join(concern.said for concern in concerns))
        self.concerns = tuple(concerns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What somebody wants selected. `seen` is the version they looked at; None: whatever it is by now."""

    preset: str
    by: str
    reason: str
    lasts: timedelta | None = None
    """None: four hours. Nothing is needed for `normal`, which does not end."""
    seen: int | None = None
    said_yes_twice: bool = False
    is_typed: bool = False
    """By a command: then the record names the account too, because `by` is only said."""
    account: int | None = None
    """For the log, which holds no text that a person typed: the id of the signed-in operator, or of the system
    account that ran the command."""


class Selector:
    """Selects for people. `concerns_of` says what speaks against a preset, `copy_version` what the disk has."""

    def __init__(
        self,
        routing: Routing,
        *,
        concerns_of: Callable[[str], Sequence[Concern]],
        copy_version: Callable[[], int],
    ) -> None:
        self._routing = routing
        self._concerns_of = concerns_of
        self._copy_version = copy_version

    def select(self, choice: Choice) -> Selection:
        """Store the choice and tell every process. Raises SelectionRefused."""
        self.check(choice)
        # Before a second yes is asked for: it would be given on what is no longer so.
        _is_still(newest(), choice)
        if choice.preset != NORMAL and not choice.said_yes_twice:
            serious = [concern for concern in self._concerns_of(choice.preset) if concern.asks_twice]
            if serious:
                raise AsksTwice(serious)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(LOCK)
            before = newest()
            _is_still(before, choice)
            chosen = self._chosen(choice, above=self._floor(before.version))
            Row.objects.create(**{name: getattr(chosen, name) for name in chosen.__slots__})
            note = f"version {chosen.version}: {chosen.preset}"
            note = audit.by_command(note) if choice.is_typed else note
            audit.record(audit.SELECTED_PRESET, who=chosen.by, note=note)
            cursor.execute(NOTIFY, notify_parameters(SelectionChanged(routing=chosen.version)))
        _log_change(before, chosen, choice)
        return chosen

    def revert(
        self,
        *,
        by: str,
        reason: str,
        seen: int | None = None,
        is_typed: bool = False,
        account: int | None = None,
    ) -> Selection:
        """Back to normal, in one action. Returns the newest selection unchanged if it is `normal` and takes effect.

        After a restore the table may say `normal` while processes serve a version above every row from their disk:
        then `normal` is selected anew, above the versions they have applied.
        """
        now = newest()
        if now.preset == NORMAL and self._floor(now.version) == now.version:
            return now
        return self.select(
            Choice(preset=NORMAL, by=by, reason=reason, seen=seen, is_typed=is_typed, account=account)
        )

    def check(self, choice: Choice) -> None:
        """Raise SelectionRefused if the choice makes no sense, whatever is in force."""
        if choice.preset not in self._routing.presets:
            known = ", ".join(self._routing.presets)
            raise SelectionRefused(f"There is no preset {choice.preset!r}. Select one of: {known}.")
        try:
            names.who(choice.by)
            names.why(choice.reason)
        except Refused as refusal:
            raise SelectionRefused(f"{refusal} It stays on record.") from None
        if choice.lasts is None:
            return
        if choice.preset == NORMAL:
            raise SelectionRefused(f"{NORMAL} does not end, so it takes no time.")
        if not SHORTEST <= choice.lasts <= LASTS_AT_MOST:
            raise SelectionRefused(
                f"It can last from one minute to {LASTS_AT_MOST.days} days. "
                "Select it again with a reason if it is needed for longer."
            )

    def _floor(self, newest_version: int) -> int:
        """No process may know a version that is as high: it would never follow. A restored database forgets some."""
        served = (
            Process.objects.order_by("-routing_version").values_list("routing_version", flat=True).first()
        )
        return max(newest_version, served or 0, self._copy_version())

    def _chosen(self, choice: Choice, *, above: int) -> Selection:
        at = timezone.now()
        return Selection(
            version=above + 1,
            preset=choice.preset,
            by=names.who(choice.by),
            reason=names.why(choice.reason),
            at=at,
            expires_at=selection.expiry_of(choice.preset, at=at, lasts=choice.lasts or LASTS),
        )


def _log_change(before: Selection, chosen: Selection, choice: Choice) -> None:
    # Who and why stand in the row that the version names: both are free text, and no log line quotes what was typed.
    log.warning(
        "selecting.selected version=%d preset=%s from=%s from_version=%d by=%s account=%s reason_length=%d",
        chosen.version,
        chosen.preset,
        before.preset,
        before.version,
        "command" if choice.is_typed else "page",
        "-" if choice.account is None else choice.account,
        len(chosen.reason),
    )


def newest() -> Selection:
    """The last row as it stands, whether or not this release could use it; before the first, what is compiled in."""
    row = Row.objects.order_by("-version").first()
    return of_row(row) if row else COMPILED_IN


def history(most: int) -> list[Selection]:
    """The last rows, the newest first."""
    return [of_row(row) for row in Row.objects.order_by("-version")[:most]]


def by_version(version: int) -> Selection | None:
    """The row of this version; None: there is none."""
    row = Row.objects.filter(version=version).first()
    return of_row(row) if row else None


def of_row(row: Row) -> Selection:
    """The row as a value, unread."""
    return Selection(**{name: getattr(row, name) for name in Selection.__slots__})


def usable(rows: Sequence[Selection], routing: Routing) -> Selection:
    """The newest of these rows that this release can use, as its processes do; or what is compiled in."""
    for row in rows:
        try:
            return selection.read({name: getattr(row, name) for name in row.__slots__}, routing)
        except SelectionInvalid:
            continue
    return COMPILED_IN


def _is_still(now: Selection, choice: Choice) -> None:
    if choice.seen is not None and choice.seen != now.version:
        at: datetime = now.at
        raise Moved(
            f"Meanwhile {now.by} selected {now.preset} at {at:%H:%M:%S} UTC (version {now.version}). "
            "Look at what is in force now, and select again if it is still needed."
        )
