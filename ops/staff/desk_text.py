"""The words of the desk: what a person's turn is doing, what a flag is about, what stands beside the turns.

Pages and scripts share them: a page hands its scripts the tables it needs.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext

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
from ops.catalogue_marks import gettext_noop
from ops.character import get_persona
from personas import safety

DOINGS: Mapping[str, str] = MappingProxyType(
    {
        "person": gettext_noop("With a person"),
        "quiet": gettext_noop("{character} is quiet"),
        "staff_pause": gettext_noop("Paused by staff"),
        "being_answered": gettext_noop("Being answered"),
        "waiting": gettext_noop("Waits for a reply"),
        "writing": gettext_noop("Writing"),
        "paused": gettext_noop("Reply broke off"),
        "idle": gettext_noop("Nothing under way"),
    }
)
"""What a person's conversation is doing, the most important first. See `name_character`."""

TIERS: Mapping[str, str] = MappingProxyType(
    {FlagTier.RED: gettext_noop("Red flag"), FlagTier.AMBER: gettext_noop("Amber flag")}
)

FLAG_KINDS: Mapping[str, str] = MappingProxyType(
    {
        FlagKind.HELP: gettext_noop("Wants to talk to a person"),
        FlagKind.SCREEN_LOST: gettext_noop("The person who had taken over is gone"),
        FlagKind.SECOND_READING: gettext_noop("The second reading is worried"),
        BROKEN: gettext_noop("A rule broke: read this message"),
    }
)
"""What a flag is about. The kinds of rules have their names in the file of the rules: see `name_kinds`."""

FLAG_STATES: Mapping[str, str] = MappingProxyType(
    {
        FlagState.OPEN: gettext_noop("not accepted"),
        FlagState.ACCEPTED: gettext_noop("accepted"),
        FlagState.CLOSED: gettext_noop("closed"),
    }
)

OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        FlagOutcome.CONCERN: gettext_noop("Concern"),
        FlagOutcome.NO_CONCERN: gettext_noop("No concern"),
        FlagOutcome.UNSURE: gettext_noop("Unsure"),
    }
)

STEPS: Mapping[str, str] = MappingProxyType(
    {
        FlagStepKind.OPENED: gettext_noop("raised"),
        FlagStepKind.REPEATED: gettext_noop("raised again"),
        FlagStepKind.SEEN: gettext_noop("on a screen"),
        FlagStepKind.ACCEPTED: gettext_noop("accepted"),
        FlagStepKind.NOTED: gettext_noop("note"),
        FlagStepKind.HANDED: gettext_noop("handed over"),
        FlagStepKind.TAKEN_ON: gettext_noop("taken on"),
        FlagStepKind.ESCALATED: gettext_noop("rang further"),
        FlagStepKind.CLOSED: gettext_noop("closed"),
    }
)

TURN_STATES: Mapping[str, str] = MappingProxyType(
    {
        "waiting": gettext_noop("waits for a place"),
        "speaking": gettext_noop("being answered"),
        "complete": "",
        "complete:goodbye": gettext_noop("ended with the drafted goodbye"),
        "paused": gettext_noop("broke off"),
        "stopped": gettext_noop("stopped by the participant"),
        "refused": gettext_noop("found no place"),
        "handed_over": "",
        "handed_over:quiet": gettext_noop("not answered: {character} is quiet"),
        "safety": gettext_noop("answered by the safety line"),
    }
)
"""How a turn stands, beside its question; empty for one that needs no word."""

ENTRIES: Mapping[str, str] = MappingProxyType(
    {
        EntryKind.JOINS: gettext_noop("took over"),
        EntryKind.LEAVES: gettext_noop("handed back"),
        EntryKind.LOST: gettext_noop("lost the screen"),
        EntryKind.HELP: gettext_noop("Asked for a person"),
        EntryKind.DISCLOSURE: gettext_noop("Said what it is"),
        EntryKind.READING: gettext_noop("Told that staff read along"),
    }
)

SCOPES: Mapping[str, str] = MappingProxyType(
    {
        PauseScope.PERSON: gettext_noop("this person"),
        PauseScope.SITE: gettext_noop("the whole site"),
        PauseScope.EVERYONE: gettext_noop("everyone"),
    }
)


MACHINE_STATES: Mapping[str, str] = MappingProxyType(
    {
        "waits": gettext_noop("Waits"),
        "in_use": gettext_noop("In use"),
        "locked": gettext_noop("Locked, and may be used by another person"),
        "away": gettext_noop("Not open"),
        "unpaired": gettext_noop("Waits for its code"),
        "copied": gettext_noop("Has to be paired again"),
    }
)
"""How a machine is."""

OFFER_STATES: Mapping[str, str] = MappingProxyType(
    {
        "open": gettext_noop("is asked: Is this you?"),
        "yes": gettext_noop("said yes, and is here"),
        "no": gettext_noop("was asked; the person there said no"),
        "taken_back": gettext_noop("was asked; it was taken back"),
        "expired": gettext_noop("was asked; there was no answer"),
        "gone": gettext_noop("was asked, and cannot come in any more"),
    }
)
"""What became of an offer, after the person's name."""


def translate(words: Mapping[str, str]) -> dict[str, str]:
    """A table of words in the language of staff pages."""
    return {key: gettext(says) for key, says in words.items()}


def get_character() -> str:
    """The name of the character. Raises PersonaInvalid."""
    return get_persona().name


def name_character(words: Mapping[str, str]) -> dict[str, str]:
    """A table of words with the character's name in place of `{character}`."""
    return {key: says.replace("{character}", get_character()) for key, says in translate(words).items()}


def describe_turn(state: str, reason: str) -> str:
    """How a turn stands, beside its question."""
    says = TURN_STATES.get(f"{state}:{reason}", TURN_STATES.get(state, state))
    return gettext(says).replace("{character}", get_character())


def name_kinds() -> Mapping[str, str]:
    """What flags of each kind are about: ours, and those of the rules that ship."""
    return {**safety.name_kinds(), **translate(FLAG_KINDS)}


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
    return json.dumps(translate(OFFER_STATES))


def with_offer_words(item: Mapping[str, Any]) -> dict[str, Any]:
    """An offer with what became of it in words."""
    return {**item, "says": gettext(OFFER_STATES[item["state"]])}
