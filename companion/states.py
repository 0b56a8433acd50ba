"""The states of a turn and the steps between them. PURE."""

from enum import StrEnum
from types import MappingProxyType


class TurnState(StrEnum):
    """Where a turn stands. The row is the truth; everything else is a view of it."""

    WAITING = "waiting"
    SPEAKING = "speaking"
    COMPLETE = "complete"
    PAUSED = "paused"
    STOPPED = "stopped"
    REFUSED = "refused"
    HANDED_OVER = "handed_over"


class Reason(StrEnum):
    """Why a turn ended as it did, where no failed call is the reason: that one is named by its `FailureClass`."""

    WHOLE = ""
    LENGTH = "length"
    STOPPED = "stopped"
    SIGNED_OUT = "signed_out"
    WAIT_CEILING = "wait_ceiling"
    AWAY = "away"
    DRAINED = "drained"
    LOST = "lost"
    REGION = "region"
    UNSTORED = "unstored"
    FAULT = "fault"
    """Something in this program that nobody foresaw."""


class Settlement(StrEnum):
    """How a question that no reply answered was settled; while it is not, it is held, kept or expired."""

    NOT = ""
    ASKED_AGAIN = "asked_again"
    """The participant asked it again: a turn of its own carries it now."""
    LET_GO = "let_go"
    """The participant let it go."""
    UNANSWERABLE = "unanswerable"
    """It cannot be answered: asked along again it failed again, or was refused."""


STEPS = MappingProxyType(
    {
        TurnState.WAITING: frozenset(
            {
                TurnState.SPEAKING,
                TurnState.REFUSED,
                TurnState.STOPPED,
                TurnState.PAUSED,
                TurnState.HANDED_OVER,
            }
        ),
        TurnState.SPEAKING: frozenset(
            {TurnState.COMPLETE, TurnState.PAUSED, TurnState.STOPPED, TurnState.HANDED_OVER}
        ),
    }
)

LIVE = frozenset(STEPS)
ENDED = frozenset(TurnState) - LIVE
