"""How one turn is to end, and what its record will say. PURE."""

from dataclasses import dataclass
from uuid import UUID

from companion.states import Reason, TurnState
from companion.supervision.causes import FlagCause
from routing.chain import SkippedLane
from routing.contracts import AttemptReport
from routing.errors import FailureClass


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnEnd:
    """The end of one turn: first what changes its row, then who is allowed to, then the record of its calls.

    The sweep and a stop know the first part only. The task that drove the turn knows all of it.
    """

    turn: int
    state: TurnState
    reason: Reason | FailureClass
    line: str = ""
    """The drafted line that is shown at the end."""
    line_unread: str = ""
    """Replaces `line` if the turn had not been admitted: no provider has read the question."""
    shortened: bool = False
    hold_s: float | None = None
    """Holds the question for a later turn; None: it is not held."""

    owner: UUID | None = None
    """Ends the turn only while this process owns it; None: any owner."""
    fence: int | None = None
    """Ends the turn only under this fence; None: any fence."""
    only_in_line: bool = False
    """Ends the turn only while it waits, and has waited its full time. The time behind an earlier turn of the same
    person does not count."""

    flag: FlagCause | None = None
    """What the rules noticed in the reply: its flag is raised with the end."""

    lane: str = ""
    model: str = ""
    preset: str = ""
    routing_version: int = 0
    routing_hash: str = ""
    marked: bool = False
    """The lane that answered, or the preset, says that replies are reduced."""
    passed_over: tuple[SkippedLane, ...] = ()
    attempts: tuple[AttemptReport, ...] = ()
    answers: tuple[int, ...] = ()
    """Held turns whose questions were asked along: answered if the reply is complete, settled if it was refused."""
    tried_along: tuple[tuple[int, FailureClass], ...] = ()
    """Held turns whose questions were asked along in a call that failed before a word, with its class."""
    unanswerable: tuple[int, ...] = ()
    """Held turns to settle as unanswerable: the reply came once their questions were left out."""
    unasked: tuple[int, ...] = ()
    """Held turns that are asked along no more for the same reason; the page offers them back."""
