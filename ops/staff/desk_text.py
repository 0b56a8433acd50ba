"""The words of the desk: what a person's turn is doing, what a flag is about, what stands beside the turns.

Pages and scripts share them: a page hands its scripts the tables it needs.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from companion.supervision.noticing import BROKEN
from companion.supervision.states import (
    EntryKind,
    FlagKind,
    FlagOutcome,
    FlagState,
    FlagStepKind,
    FlagTier,
    PauseScope,
)
from ops.character import get_persona
from personas import safety

DOINGS: Mapping[str, str] = MappingProxyType(
    {
        "person": "With a person",
        "quiet": "{character} is quiet",
        "staff_pause": "Paused by staff",
        "being_answered": "Being answered",
        "waiting": "Waits for a reply",
        "writing": "Writing",
        "paused": "Reply broke off",
        "idle": "Nothing under way",
    }
)
"""What a person's conversation is doing, the most important first. See `name_character`."""

TIERS: Mapping[str, str] = MappingProxyType({FlagTier.RED: "Red flag", FlagTier.AMBER: "Amber flag"})

FLAG_KINDS: Mapping[str, str] = MappingProxyType(
    {
        FlagKind.HELP: "Wants to talk to a person",
        FlagKind.SCREEN_LOST: "The person who had taken over is gone",
        FlagKind.SECOND_READING: "The second reading is worried",
        BROKEN: "A rule broke: read this message",
    }
)
"""What a flag is about. The kinds of rules have their names in the file of the rules: see `name_kinds`."""

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
        "complete:goodbye": "ended with the drafted goodbye",
        "paused": "broke off",
        "stopped": "stopped by the participant",
        "refused": "found no place",
        "handed_over": "",
        "handed_over:quiet": "not answered: {character} is quiet",
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


MACHINE_STATES: Mapping[str, str] = MappingProxyType(
    {
        "waits": "Waits",
        "in_use": "In use",
        "locked": "Locked, and may be used by another person",
        "away": "Not open",
        "unpaired": "Waits for its code",
        "copied": "Has to be paired again",
    }
)
"""How a machine is."""

OFFER_STATES: Mapping[str, str] = MappingProxyType(
    {
        "open": "is asked: Is this you?",
        "yes": "said yes, and is here",
        "no": "was asked; the person there said no",
        "taken_back": "was asked; it was taken back",
        "expired": "was asked; there was no answer",
        "gone": "was asked, and cannot come in any more",
    }
)
"""What became of an offer, after the person's name."""


def get_character() -> str:
    """The name of the character. Raises PersonaInvalid."""
    return get_persona().name


def name_character(words: Mapping[str, str]) -> dict[str, str]:
    """A table of words with the character's name in place of `{character}`."""
    return {key: says.replace("{character}", get_character()) for key, says in words.items()}


def describe_turn(state: str, reason: str) -> str:
    """How a turn stands, beside its question."""
    says = TURN_STATES.get(f"{state}:{reason}", TURN_STATES.get(state, state))
    return says.replace("{character}", get_character())


def name_kinds() -> Mapping[str, str]:
    """What flags of each kind are about: ours, and those of the rules that ship."""
    return {**safety.name_kinds(), **FLAG_KINDS}


def describe_kind(kind: str) -> str:
    """What a flag is about, in words. A kind of earlier rules that has no name any more is spoken as it is written."""
    return name_kinds().get(kind) or kind.replace("_", " ").replace("-", " ").capitalize()


def choose_doing(item: Mapping[str, Any]) -> str:
    """A key of DOINGS for an item of a `people` frame: who speaks comes first, then what the turn does."""
    if item["person"]:
        return "person"
    if item["quiet"]:
        return "quiet"
    return "staff_pause" if item["paused"] else str(item["turn"])


def offer_words() -> str:
    """The words of offers for scripts, as JSON."""
    return json.dumps(dict(OFFER_STATES))


def with_offer_words(item: Mapping[str, Any]) -> dict[str, Any]:
    """An offer with what became of it in words."""
    return {**item, "says": OFFER_STATES[item["state"]]}
