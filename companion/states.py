"""The states of a turn and the steps between them. PURE."""

from enum import StrEnum
from types import MappingProxyType


class TurnState(StrEnum):
    """The state of a turn's row."""

    WAITING = "waiting"
    SPEAKING = "speaking"
    COMPLETE = "complete"
    PAUSED = "paused"
    STOPPED = "stopped"
    REFUSED = "refused"
    HANDED_OVER = "handed_over"
    """A person reads and answers it, or the companion is quiet. It is ended when it is stored, or at the take-over."""
    SAFETY = "safety"
    """The message was red: it ends when it is stored, with a drafted line and a flag."""


class Reason(StrEnum):
    """Why a turn ended. After a failed call the reason is its `FailureClass` instead."""

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
    RED = "red"
    """The message was red, or a red message of the same person ended the reply that was under way."""
    PERSON = "person"
    """A person had taken over."""
    QUIET = "quiet"
    """The companion was quiet after a red message."""
    STAFF_PAUSE = "staff_pause"
    """Staff had paused the companion for the person, the site or everyone."""
    GOODBYE = "goodbye"
    """The message took leave: the turn ends with the drafted goodbye, in place of a reply or after it."""
    CAUGHT = "caught"
    """A rule stopped the reply before its words were shown."""
    FAULT = "fault"
    """An error in this program."""


class Settlement(StrEnum):
    """How an unanswered question was settled. Until then it is held, kept or expired."""

    NOT = ""
    ASKED_AGAIN = "asked_again"
    """The participant asked it again, in a new turn."""
    LET_GO = "let_go"
    """The participant let it go."""
    UNANSWERABLE = "unanswerable"
    """It cannot be answered: each call with it failed, or was refused."""


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
