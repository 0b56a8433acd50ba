"""The result of a preflight, for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.core.checks import ERROR, WARNING, CheckMessage


class MessageLevel(StrEnum):
    """How much a message of a check weighs."""

    STOPS = "stops"
    """A start here would fail, or people could not use the service."""
    WARNS = "warns"
    """It starts, and something is missing or less safe."""
    NOTE = "note"


@dataclass(frozen=True, kw_only=True, slots=True)
class SectionResult:
    """What one section of checks found. `skipped` says why it was not looked at; empty: it was."""

    name: str
    messages: Sequence[CheckMessage] = ()
    skipped: str = ""


def get_level(message: CheckMessage) -> MessageLevel:
    """Return how much a message weighs."""
    if message.level >= ERROR:
        return MessageLevel.STOPS
    return MessageLevel.WARNS if message.level >= WARNING else MessageLevel.NOTE


def count_level(results: Sequence[SectionResult], level: MessageLevel) -> int:
    """Return how many messages have this level."""
    return sum(get_level(message) is level for result in results for message in result.messages)


def format_section(result: SectionResult) -> Iterator[str]:
    """One line for a section that is in order, or a few for each message."""
    if result.skipped:
        yield f"{result.name}: not looked at. {result.skipped}"
    elif not result.messages:
        yield f"{result.name}: in order."
    for message in result.messages:
        yield f"{result.name}: {get_level(message)} ({message.id}). {message.msg}"
        if message.hint:
            yield f"    {message.hint}"


def format_verdict(results: Sequence[SectionResult]) -> str:
    """The last line."""
    stops, warns = (count_level(results, level) for level in (MessageLevel.STOPS, MessageLevel.WARNS))
    skipped = sum(bool(result.skipped) for result in results)
    beside = f"{warns} warnings" if warns != 1 else "1 warning"
    unseen = f", and {skipped} not looked at" if skipped else ""
    if stops:
        return f"{stops} {'fault stops' if stops == 1 else 'faults stop'} a start here; {beside}{unseen}."
    return f"Nothing stops a start here; {beside}{unseen}."


def build_document(results: Sequence[SectionResult]) -> Mapping[str, Any]:
    """The same for programs."""
    return {
        "stops": count_level(results, MessageLevel.STOPS),
        "warns": count_level(results, MessageLevel.WARNS),
        "sections": [
            {
                "name": result.name,
                "skipped": result.skipped or None,
                "messages": [
                    {
                        "id": message.id,
                        "level": str(get_level(message)),
                        "says": message.msg,
                        "mend": message.hint or "",
                    }
                    for message in result.messages
                ],
            }
            for result in results
        ],
    }
