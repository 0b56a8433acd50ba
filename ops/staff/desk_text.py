"""PURE. The words of the desk: what a person's turn is doing, what a flag is about, what stands beside the turns.

Pages and scripts share them: a page hands its scripts the tables it needs.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from companion.supervision.states import (
    EntryKind,
    FlagKind,
    FlagOutcome,
    FlagState,
    FlagStepKind,
    FlagTier,
    PauseScope,
)

DOINGS: Mapping[str, str] = MappingProxyType(
    {
        "person": "With a person",
        "quiet": "Companion is quiet",
        "staff_pause": "Paused by staff",
        "being_answered": "Being answered",
        "waiting": "Waits for a reply",
        "writing": "Writing",
        "paused": "Reply broke off",
        "idle": "Nothing under way",
    }
)
"""What a person's conversation is doing, the most important first."""

TIERS: Mapping[str, str] = MappingProxyType({FlagTier.RED: "Red flag", FlagTier.AMBER: "Amber flag"})

FLAG_KINDS: Mapping[str, str] = MappingProxyType(
    {
        FlagKind.HELP: "Wants to talk to a person",
        FlagKind.SCREEN_LOST: "The person who had taken over is gone",
    }
)
"""What a flag is about. The kinds of rules are spoken as they are written: see `describe_kind`."""

FLAG_STATES: Mapping[str, str] = MappingProxyType(
    {FlagState.OPEN: "not accepted", FlagState.ACCEPTED: "accepted", FlagState.CLOSED: "closed"}
)

OUTCOMES: Mapping[str, str] = MappingProxyType(
    {FlagOutcome.CONCERN: "Concern", FlagOutcome.NO_CONCERN: "No concern", FlagOutcome.UNSURE: "Unsure"}
)

STEPS: Mapping[str, str] = MappingProxyType(
    {
        FlagStepKind.OPENED: "raised",
        FlagStepKind.REPEATED: "raised again",
        FlagStepKind.SEEN: "on a screen",
        FlagStepKind.ACCEPTED: "accepted",
        FlagStepKind.NOTED: "note",
        FlagStepKind.HANDED: "handed over",
        FlagStepKind.TAKEN_ON: "taken on",
        FlagStepKind.ESCALATED: "rang further",
        FlagStepKind.CLOSED: "closed",
    }
)

TURN_STATES: Mapping[str, str] = MappingProxyType(
    {
        "waiting": "waits for a place",
        "speaking": "being answered",
        "complete": "",
        "paused": "broke off",
        "stopped": "stopped by the participant",
        "refused": "found no place",
        "handed_over": "",
        "handed_over:quiet": "not answered: the companion is quiet",
        "safety": "answered by the safety line",
    }
)
"""How a turn stands, beside its question; empty for one that needs no word."""

ENTRIES: Mapping[str, str] = MappingProxyType(
    {
        EntryKind.JOINS: "took over",
        EntryKind.LEAVES: "handed back",
        EntryKind.LOST: "lost the screen",
        EntryKind.HELP: "Asked for a person",
        EntryKind.DISCLOSURE: "Said what it is",
        EntryKind.READING: "Told that staff read along",
    }
)

SCOPES: Mapping[str, str] = MappingProxyType(
    {PauseScope.PERSON: "this person", PauseScope.SITE: "the whole site", PauseScope.EVERYONE: "everyone"}
)


def describe_turn(state: str, reason: str) -> str:
    """How a turn stands, beside its question."""
    return TURN_STATES.get(f"{state}:{reason}", TURN_STATES.get(state, state))


def describe_kind(kind: str) -> str:
    """What a flag is about, in words."""
    return FLAG_KINDS.get(kind) or kind.replace("_", " ").replace("-", " ").capitalize()


def choose_doing(item: Mapping[str, Any]) -> str:
    """A key of DOINGS for an item of a `people` frame: who speaks comes first, then what the turn does."""
    if item["person"]:
        return "person"
    if item["quiet"]:
        return "quiet"
    return "staff_pause" if item["paused"] else str(item["turn"])
