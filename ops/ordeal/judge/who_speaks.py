"""Rules about who speaks: nothing of the companion after a take-over or in a pause, one person at a time (S4). PURE."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.ordeal.judge.evidence import Evidence, JudgedTurn
from ops.ordeal.judge.fault_times import ON_PROCESSES, ON_PROVIDERS, ON_STORAGE
from ops.ordeal.judge.findings import Findings, OrdealRule
from ops.ordeal.judge.shown_replies import find_snapshots

CLOCKS_DIFFER_S = 0.5
LEARNS_WITHIN_S = 2.5
"""A process learns of a take-over or a pause by notification, and by its tick after a lost one."""
ENTRY_FRAMES = frozenset({"said", "person", "help", "reading"})


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonSpan:
    """A person spoke in a conversation for this time; `ends` is infinite while they still do."""

    conversation: int
    person: object
    begins: float
    ends: float


def _entries_of(evidence: Evidence) -> Mapping[int, Sequence[Mapping[str, Any]]]:
    by_conversation: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(evidence.history.rows("entries"), key=lambda one: int(one["id"])):
        by_conversation[int(row["conversation"])].append(row)
    return by_conversation


def _spans(evidence: Evidence) -> Iterator[PersonSpan]:
    for conversation, entries in _entries_of(evidence).items():
        joined: Mapping[str, Any] | None = None
        for entry in entries:
            if entry["kind"] == "joins":
                joined = entry
            elif entry["kind"] in ("leaves", "lost") and joined is not None:
                yield PersonSpan(
                    conversation=conversation, person=joined["person"], begins=joined["at"], ends=entry["at"]
                )
                joined = None
        if joined is not None:
            yield PersonSpan(
                conversation=conversation, person=joined["person"], begins=joined["at"], ends=float("inf")
            )


def check_one_person(evidence: Evidence, findings: Findings) -> None:
    """A person joins only after the one before has left, and words of a person are written while they are there."""
    for entries in _entries_of(evidence).values():
        there: object = None
        for entry in entries:
            kind, person, at = entry["kind"], entry["person"], entry["at"]
            if kind == "joins":
                text = f"entry {entry['id']}: a second person joins"
                findings.expect(there is None, text, at=at)
                there = person
            elif kind in ("leaves", "lost"):
                text = f"entry {entry['id']}: a person leaves who was not there"
                findings.expect(there is not None and there == person, text, at=at)
                there = None
            elif kind == "said":
                text = f"entry {entry['id']} was written by a person who was not there"
                findings.expect(there == person, text, at=at)


def check_silent_companion(evidence: Evidence, findings: Findings) -> None:
    """While a person is there no turn of the conversation speaks, and no provider is asked."""
    for span in _spans(evidence):
        for turn in evidence.turns_of.get(span.conversation, ()):
            if turn.admitted_at is None:
                continue
            begins, ends = span.begins + CLOCKS_DIFFER_S, span.ends - CLOCKS_DIFFER_S
            speaks = turn.admitted_at < ends and turn.ends_at > begins
            text = "the companion spoke while a person was there"
            findings.expect(not speaks, text, at=max(turn.admitted_at, span.begins), turn=turn.id)
            for call in evidence.calls_of.get(turn.id, ()):
                learns_s = evidence.load.allow(LEARNS_WITHIN_S, span.begins, call.asked_at)
                late = span.begins + learns_s < call.asked_at < ends
                excused = evidence.faults.touch(
                    span.begins, call.asked_at, ON_PROCESSES | ON_STORAGE | ON_PROVIDERS
                )
                text = "a provider was asked while a person was there"
                findings.expect(
                    not late or excused, text, at=call.asked_at, who=f"provider:{call.lane}", turn=turn.id
                )


def check_no_word_after(evidence: Evidence, findings: Findings) -> None:
    """Once a page shows that a person is there it shows no new word of the companion."""
    for story in evidence.sockets:
        people: dict[object, bool] = {}
        asked_again: set[object] = set()
        for event, frame in story.frames("hello", "got", "sent"):
            kind = frame.get("type")
            conversation = frame.get("conversation")
            place = conversation if isinstance(conversation, int) else 0
            if event.what == "sent":
                if kind == "catch_up":
                    asked_again.add(frame.get("turn"))
            elif kind in ("hello", "watched"):
                holder = conversation if isinstance(conversation, Mapping) else frame
                people[place] = bool(holder.get("person"))
                asked_again -= {snapshot["id"] for snapshot in find_snapshots(frame)}
            elif kind == "person":
                people[place] = frame["state"] == "joins"
            elif kind == "words":
                held = not people.get(place) or frame["turn"] in asked_again
                text = "the companion's words came after a person had joined"
                findings.expect(held, text, at=event.at, who=story.who, turn=int(frame["turn"]))


def check_pauses(evidence: Evidence, findings: Findings) -> None:
    """While staff have paused the companion no turn speaks: what is asked in a pause is not admitted before its end."""
    participants = {
        int(facts["conversation"]): (facts.get("participant"), facts.get("site"))
        for facts in evidence.history.people.values()
    }
    for pause in evidence.history.rows("pauses"):
        at = float(pause["at"])
        begins = at + evidence.load.allow(LEARNS_WITHIN_S, at, at + LEARNS_WITHIN_S)
        ends = float("inf") if pause["ended_at"] is None else float(pause["ended_at"]) - CLOCKS_DIFFER_S
        for conversation, turns in evidence.turns_of.items():
            participant, site = participants.get(conversation, (None, None))
            if pause["scope"] != "everyone" and pause["about"] != (
                participant if pause["scope"] == "person" else site
            ):
                continue
            for turn in turns:
                if not (turn.created_at < ends and turn.ends_at > begins):
                    continue
                speaks_from = max(begins, turn.admitted_at if turn.admitted_at is not None else ends)
                held = speaks_from >= ends or _may_not_know(evidence, turn, at, begins, speaks_from)
                text = f"the turn spoke in pause {pause['id']}"
                findings.expect(held, text, at=speaks_from, turn=turn.id)


def _may_not_know(evidence: Evidence, turn: JudgedTurn, at: float, begins: float, speaks_from: float) -> bool:
    """Whether faults explain that a turn speaks in a pause. One asked in it reads the pause in the same statement."""
    if turn.created_at >= begins:
        # The pause was asked for at `at`, and stored later if the storage stood still.
        return evidence.faults.touch(at, begins, ON_STORAGE, settle_s=0.0)
    return evidence.faults.touch(at, speaks_from, ON_PROCESSES | ON_STORAGE)


def check_entries(evidence: Evidence, findings: Findings) -> None:
    """Entries are shown once, in order, as they are stored."""
    stored = {int(row["id"]): row for row in evidence.history.rows("entries")}
    for story in evidence.sockets:
        last: dict[object, int] = {}
        for event, frame in story.frames("hello", "got", "sent"):
            kind, conversation = frame.get("type"), frame.get("conversation")
            place = conversation if isinstance(conversation, int) else 0
            if event.what == "sent":
                if kind == "catch_up" and "entry" in frame:
                    last[place] = min(last.get(place, 0), int(frame["entry"]))
                continue
            if kind in ("hello", "watched"):
                holder = conversation if isinstance(conversation, Mapping) else frame
                shown = [int(item["entry"]) for item in holder.get("turns") or () if "entry" in item]
                last[place] = max([*shown, 0])
            elif kind in ENTRY_FRAMES and "id" in frame:
                entry = int(frame["id"])
                text = f"entry {entry} came after entry {last.get(place, 0)}"
                findings.expect(entry > last.get(place, 0), text, at=event.at, who=story.who)
                last[place] = entry
                row = stored.get(entry)
                text = f"entry {entry} is not stored as it was shown"
                held = row is not None and row["text"] == frame.get("text", frame.get("line"))
                findings.expect(held, text, at=event.at, who=story.who)


RULES = (
    OrdealRule(name="one-person", promise="One person speaks at a time", check=check_one_person),
    OrdealRule(
        name="companion-is-silent",
        promise="The companion does not speak while a person is there",
        check=check_silent_companion,
    ),
    OrdealRule(
        name="no-word-after-a-person",
        promise="No companion word is shown after a person has joined",
        check=check_no_word_after,
    ),
    OrdealRule(name="pauses-hold", promise="No turn speaks in a pause", check=check_pauses),
    OrdealRule(
        name="entries-in-order", promise="Entries are shown once, in order, as stored", check=check_entries
    ),
)
