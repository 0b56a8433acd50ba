"""Selects a preset: the only code by which a person moves traffic.

A selection is one row, one audit entry and one notification, in one transaction. Errors are `SelectionRefused` and its
subclasses, each a sentence with the mend; nothing has changed then.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext

from companion.models import Process
from companion.notifications import NOTIFY, SelectionChanged, notify_parameters
from ops import audit, names
from ops.changes import ChangeRefused
from ops.models import SelectionRow
from ops.selections import rows
from ops.selections.pins import LOCK
from routing import selection
from routing.lanes import NORMAL, Routing
from routing.selection import LASTS, LASTS_AT_MOST, Concern, Selection

log = logging.getLogger(__name__)

MIN_DURATION = timedelta(minutes=1)


class SelectionRefused(Exception):
    """Nothing was selected. The text says why, and the mend."""


class SelectionConflict(SelectionRefused):
    """Another selection was stored after the version that the request is based on."""


class ConfirmationRequired(SelectionRefused):
    """The request needs a confirmation. `concerns` are the reasons."""

    def __init__(self, concerns: Sequence[Concern]) -> None:
        super().__init__(" ".join(concern.said for concern in concerns))
        self.concerns = tuple(concerns)


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionRequest:
    """A request to select a preset. `seen` is the version it is based on; None: any."""

    preset: str
    by: str
    reason: str
    lasts: timedelta | None = None
    """None: four hours. `normal` does not end and takes no duration."""
    seen: int | None = None
    is_confirmed: bool = False
    is_typed: bool = False
    """Made by a command: the audit entry then names the system account too, because `by` is not verified."""
    account: int | None = None
    """For the log, which holds no typed text: the id of the signed-in operator, or of the system account that ran the
    command."""


class Selector:
    """Selects presets. `concerns_about` lists the concerns about a preset; `copy_version` reads the version on disk."""

    def __init__(
        self,
        routing: Routing,
        *,
        concerns_about: Callable[[str], Sequence[Concern]],
        copy_version: Callable[[], int],
    ) -> None:
        self._routing = routing
        self._concerns_about = concerns_about
        self._copy_version = copy_version

    def select(self, request: SelectionRequest) -> Selection:
        """Store the selection and notify every process. Raises SelectionRefused."""
        self.check(request)
        # Check this before asking for a confirmation, which would be based on an outdated state.
        _refuse_if_changed(rows.read_newest(), request)
        if request.preset != NORMAL and not request.is_confirmed:
            serious = [concern for concern in self._concerns_about(request.preset) if concern.asks_twice]
            if serious:
                raise ConfirmationRequired(serious)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(LOCK)
            # Read again under the lock: another selection may have come since the check above.
            before = rows.read_newest()
            _refuse_if_changed(before, request)
            chosen = self._build_selection(request, above=self._floor(before.version))
            SelectionRow.objects.create(**{name: getattr(chosen, name) for name in chosen.__slots__})
            note = f"version {chosen.version}: {chosen.preset}"
            note = audit.format_command_note(note) if request.is_typed else note
            audit.record(audit.SELECTED_PRESET, who=chosen.by, note=note)
            # In the transaction: PostgreSQL sends it at the commit, and not at all without one.
            cursor.execute(NOTIFY, notify_parameters(SelectionChanged(routing=chosen.version)))
        _log_change(before, chosen, request)
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
        """Select `normal`. Returns the newest selection unchanged if it is `normal` and in force.

        After a database restore the table may say `normal` while processes serve a higher version from their disk.
        Then `normal` is selected again, with a version above theirs.
        """
        now = rows.read_newest()
        # Only if no process serves a later version: it would ignore this `normal`.
        if now.preset == NORMAL and self._floor(now.version) == now.version:
            return now
        return self.select(
            SelectionRequest(
                preset=NORMAL, by=by, reason=reason, seen=seen, is_typed=is_typed, account=account
            )
        )

    def check(self, request: SelectionRequest) -> None:
        """Raise SelectionRefused if the request is invalid, independent of what is in force."""
        if request.preset not in self._routing.presets:
            known = ", ".join(self._routing.presets)
            raise SelectionRefused(
                gettext("There is no preset {preset}. Select one of: {known}.").format(
                    preset=repr(request.preset), known=known
                )
            )
        try:
            names.clean_by(request.by)
            names.clean_reason(request.reason)
        except ChangeRefused as refusal:
            raise SelectionRefused(gettext("{why} It stays on record.").format(why=refusal)) from None
        if request.lasts is None:
            return
        if request.preset == NORMAL:
            raise SelectionRefused(
                gettext("{preset} does not end, so it takes no time.").format(preset=NORMAL)
            )
        if not MIN_DURATION <= request.lasts <= LASTS_AT_MOST:
            raise SelectionRefused(
                gettext(
                    "It can last from one minute to {days} days. "
                    "Select it again with a reason if it is needed for longer."
                ).format(days=LASTS_AT_MOST.days)
            )

    def _floor(self, newest_version: int) -> int:
        """The highest version that any process has applied: a process ignores a selection that is not above its own.

        After a restore the database may not know all of them.
        """
        served = (
            Process.objects.order_by("-routing_version").values_list("routing_version", flat=True).first()
        )
        return max(newest_version, served or 0, self._copy_version())

    def _build_selection(self, request: SelectionRequest, *, above: int) -> Selection:
        at = timezone.now()
        return Selection(
            version=above + 1,
            preset=request.preset,
            by=names.clean_by(request.by),
            reason=names.clean_reason(request.reason),
            at=at,
            expires_at=selection.expiry_of(request.preset, at=at, lasts=request.lasts or LASTS),
        )


def _log_change(before: Selection, chosen: Selection, request: SelectionRequest) -> None:
    # `by` and `reason` are free text, which logs never contain. They are in the row of this version.
    log.warning(
        "selecting.selected version=%d preset=%s from=%s from_version=%d by=%s account=%s reason_length=%d",
        chosen.version,
        chosen.preset,
        before.preset,
        before.version,
        "command" if request.is_typed else "page",
        "-" if request.account is None else request.account,
        len(chosen.reason),
    )


def _refuse_if_changed(now: Selection, request: SelectionRequest) -> None:
    if request.seen is not None and request.seen != now.version:
        at: datetime = now.at
        raise SelectionConflict(
            gettext(
                "Meanwhile {by} selected {preset} at {at} UTC (version {version}). "
                "Look at what is in force now, and select again if it is still needed."
            ).format(by=now.by, preset=now.preset, at=f"{at:%H:%M:%S}", version=now.version)
        )
