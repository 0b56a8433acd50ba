"""What happens on machines and belongs on the audit record. The record is handed in: it is kept by `ops`."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class MachineEventKind(StrEnum):
    """What happened on a machine."""

    COPIED = "copied"
    """Its cookie was used in two browsers."""
    PAIRED = "paired"
    """A browser has got the cookie."""
    SAID_YES = "said_yes"
    """The person has said that it is they, and the visit is open."""
    SAID_NO = "said_no"
    """The person has said that it is not they."""
    GONE = "gone"
    """The person said yes, and may not come in any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineEvent:
    """Something that happened on a machine. `offer` and `participant` where it was asked for a person."""

    kind: MachineEventKind
    machine: UUID
    name: str
    site: int
    offer: int | None = None
    participant: int | None = None


NoteEvent = Callable[[MachineEvent], None]
"""Called in the transaction of the event, on Django's connection."""
