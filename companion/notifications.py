"""The closed set of notifications that processes send each other through PostgreSQL: ids and versions, never text.

Processes of the release before must be able to read them, so keys of the payload are only ever added.
"""

from collections.abc import Iterator, Sequence
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

CHANNEL = "companion"
NOTIFY = "SELECT pg_notify(%s, %s)"
"""Takes what `notify_parameters` returns. PostgreSQL delivers the notification when the transaction commits."""
MAX_TURNS = 40
"""Turns in one notification, which PostgreSQL limits to 8,000 bytes."""
MAX_VISITS = 100
"""Visits in one notification."""
MAX_FLAGS = 150
"""Flags in one notification."""
MAX_CONVERSATIONS = 300
"""Conversations in one notification."""


class _Payload(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class TurnsChanged(_Payload):
    """Process `by` has changed these turns. It has handled them itself and ignores its own notification."""

    by: UUID
    changed: tuple[tuple[int, int], ...]
    """(turn, conversation)."""
    ended: tuple[int, ...]
    admitted: tuple[tuple[int, int, UUID, int, str], ...]
    """(turn, conversation, owner, fence, lane)."""


class BreakersChanged(_Payload):
    """The breaker of a lane has changed its state."""

    by: UUID
    breakers: Literal[True]


class KeptChanged(_Payload):
    """A kept question of these conversations was settled."""

    by: UUID
    kept: tuple[int, ...]


class VisitsEnded(_Payload):
    """These visits have ended, so their sockets must close. `reason` is an `EndReason`; empty: of an older release.

    `moved_to`: the visit in which their participant goes on, with the replies that are under way.
    """

    visits: tuple[UUID, ...]
    reason: str = ""
    moved_to: UUID | None = None


class VisitsLocked(_Payload):
    """These visits are locked, so their sockets must close. Their turns go on."""

    locked: tuple[UUID, ...]


class NeedsChanged(_Payload):
    """What is recorded of the needs of these participants has changed, so their open pages look otherwise."""

    needs: tuple[int, ...]


class MachinesChanged(_Payload):
    """What the waiting pages of these machines show has changed: an offer, its answer, a withdrawal, a new cookie."""

    machines: tuple[UUID, ...]


class SelectionChanged(_Payload):
    """A selection is stored under the version `routing`."""

    routing: int


class ControlChanged(_Payload):
    """Who may speak in these conversations has changed, or an entry was added beside their turns."""

    by: UUID
    control: tuple[int, ...]


class FlagsChanged(_Payload):
    """These flags were raised, seen, accepted, handed over, escalated or closed: (flag, site)."""

    flags: tuple[tuple[int, int], ...]


class StaffPausesChanged(_Payload):
    """Staff have paused or resumed the companion for a person, a site or everyone."""

    pauses: Literal[True]


class WritingNoticed(_Payload):
    """The participant of conversation `writing` is typing; with `staff`, this member of staff is. Never what."""

    writing: int
    staff: int | None = None


class WaitingOffered(_Payload):
    """Process `by` leaves: the others may claim the turns that wait there."""

    by: UUID
    offered: Literal[True]


class TurnsClaimed(_Payload):
    """Process `by` drives these waiting turns from now on."""

    by: UUID
    claimed: tuple[int, ...]


Notification = (
    TurnsChanged
    | BreakersChanged
    | KeptChanged
    | VisitsEnded
    | VisitsLocked
    | NeedsChanged
    | MachinesChanged
    | SelectionChanged
    | ControlChanged
    | FlagsChanged
    | StaffPausesChanged
    | WritingNoticed
    | WaitingOffered
    | TurnsClaimed
)

# Each kind has a required key that no other kind has, so a payload is valid as one of them at most.
_payloads: TypeAdapter[Notification] = TypeAdapter(Notification)


def parse_notification(payload: str) -> Notification | None:
    """Return the notification in `payload`; None if it is of no known kind."""
    try:
        return _payloads.validate_json(payload)
    except ValidationError:
        return None


def notify_parameters(notification: Notification) -> tuple[str, str]:
    """Return the parameters of `NOTIFY` for `notification`."""
    return CHANNEL, notification.model_dump_json()


def split_turns(notification: TurnsChanged) -> Iterator[TurnsChanged]:
    """Split a notification into parts of at most `MAX_TURNS` turns; none if no turn has changed."""
    for start in range(0, len(notification.changed), MAX_TURNS):
        part = slice(start, start + MAX_TURNS)
        yield TurnsChanged(
            by=notification.by,
            changed=notification.changed[part],
            ended=notification.ended[part],
            admitted=notification.admitted[part],
        )


def split_flags(flags: Sequence[tuple[int, int]]) -> Iterator[FlagsChanged]:
    """Split these (flag, site) into notifications of at most `MAX_FLAGS`."""
    for start in range(0, len(flags), MAX_FLAGS):
        yield FlagsChanged(flags=tuple(flags[start : start + MAX_FLAGS]))


def split_control(by: UUID, conversations: Sequence[int]) -> Iterator[ControlChanged]:
    """Split these conversations into notifications of at most `MAX_CONVERSATIONS`."""
    for start in range(0, len(conversations), MAX_CONVERSATIONS):
        yield ControlChanged(by=by, control=tuple(conversations[start : start + MAX_CONVERSATIONS]))
