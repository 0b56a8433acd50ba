"""PURE. Events as lines of text: the timeline of faults, and the neighbourhood of a violation."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ops.ordeal.history import HistoryEvent, RunHistory
from ops.ordeal.judge.evidence import Evidence
from ops.ordeal.judge.findings import Violation

AROUND_S = 2.0
"""Before and after a violation."""
MOST_EVENTS = 60
MAX_TEXT_CHARS = 48
PLAIN_FIELDS = (
    "turn",
    "seq",
    "key",
    "flag",
    "entry",
    "id",
    "after",
    "state",
    "code",
    "reason",
    "act",
    "conversation",
)


def describe_event(event: HistoryEvent) -> str:
    """One event on one line: its time, who, what, and the fields that lead to other events."""
    parts = [f"{event.at:9.3f} s", f"{event.who:18}", event.what]
    frame = event.frame
    if frame:
        parts.append(str(frame.get("type", "")))
    parts += _describe_fields(frame or event.data)
    return "  ".join(part for part in parts if part)


def _describe_fields(fields: Mapping[str, Any]) -> Iterator[str]:
    for name in (
        "fault",
        "target",
        "how",
        "subject",
        "value",
        "call",
        "request",
        "process",
        "kind",
        *PLAIN_FIELDS,
    ):
        value = fields.get(name)
        if value not in (None, "") and not isinstance(value, (Mapping, list)):
            yield f"{name}={value}"
    text = fields.get("text") or fields.get("line")
    if isinstance(text, str):
        yield repr(text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}…")


def list_faults(history: RunHistory) -> list[str]:
    """Every fault and change, and every process that started or ended, in order of time."""
    return [describe_event(event) for event in history.events if event.role in ("fault", "process", "run")]


def list_neighbourhood(history: RunHistory, violation: Violation) -> list[str]:
    """The events around a violation that concern its turn, its socket or its conversation, and all faults."""
    evidence = Evidence(history)
    concerned = _find_concerned(evidence, violation)
    calls = {call.call for call in evidence.calls_of.get(violation.turn or 0, ())}
    near = [
        event
        for event in history.events
        if abs(event.at - violation.at) <= AROUND_S
        and event.who != "record"
        and (
            event.role in ("fault", "process", "run")
            or event.who == violation.who
            or event.data.get("call") in calls
            or (event.role == "page" and event.name == concerned)
            or (event.role == "staff" and _is_about(event, evidence, concerned))
        )
    ]
    return [describe_event(event) for event in _nearest(near, violation.at)]


def _find_concerned(evidence: Evidence, violation: Violation) -> str:
    """The person whom a violation concerns; empty if it concerns no single person."""
    turn = evidence.turns.get(violation.turn or 0)
    if turn is not None:
        return evidence.person_of.get(turn.conversation, "")
    role, _, rest = violation.who.partition(":")
    return rest.partition("/")[0] if role == "page" else ""


def _is_about(event: HistoryEvent, evidence: Evidence, person: str) -> bool:
    conversation = evidence.conversation_of.get(person)
    return conversation is not None and event.frame.get("conversation") == conversation


def _nearest(events: Iterable[HistoryEvent], at: float) -> list[HistoryEvent]:
    """At most MOST_EVENTS, those nearest in time, in order."""
    nearest = sorted(events, key=lambda event: abs(event.at - at))[:MOST_EVENTS]
    return sorted(nearest, key=lambda event: event.at)


def describe_turn(history: RunHistory, turn: int) -> list[str]:
    """The stored row of a turn, field by field, texts cut."""
    row = next((row for row in history.rows("turns") if row["id"] == turn), None)
    if row is None:
        return [f"turn {turn} is not stored"]
    return [f"{name} = {str(value)[:120]}" for name, value in row.items() if value not in (None, "", [])]
