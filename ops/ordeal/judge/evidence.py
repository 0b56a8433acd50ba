"""A history as the rules read it: stored turns, provider calls, sockets, codes, faults. PURE."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from ops.ordeal.history import HistoryEvent, RunHistory
from ops.ordeal.judge.fault_times import FaultTimes
from ops.ordeal.machine_load import MachineLoad, read_load

LIVE_STATES = frozenset({"waiting", "speaking"})
RECOVERY_S = 5.0
"""Added to the lease: within both, everything that a fault has touched is in order again (T11: 15 s)."""
MIN_LINE_CHARS = 12
"""Shorter drafted lines may stand in a message by chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedTurn:
    """One stored turn. Times in seconds since the start of the run."""

    id: int
    conversation: int
    key: str
    question: str
    state: str
    reason: str = ""
    openings: Sequence[Mapping[str, str]] = ()
    reply: str = ""
    seq: int = 0
    line: str = ""
    owner: str = ""
    fence: int = 0
    lane: str = ""
    answered_by: int | None = None
    settled: str = ""
    held_until: float | None = None
    tried_along: int = 0
    attempts: Sequence[Mapping[str, Any]] = ()
    created_at: float
    wait_until: float = 0.0
    admitted_at: float | None = None
    first_word_at: float | None = None
    closed_at: float | None = None

    @property
    def ends_at(self) -> float:
        """When it ended; infinite while it is live."""
        return float("inf") if self.closed_at is None else self.closed_at


@dataclass(kw_only=True, slots=True)
class ProviderCall:
    """One call as the provider saw it. `how` is `finished`, `broke`, `left`, or empty while it is open."""

    call: str
    lane: str
    turn: int | None
    """None: no turn's call, such as a second reading."""
    messages: Sequence[Mapping[str, str]]
    asked_at: float
    ended_at: float = float("inf")
    how: str = ""
    reason: str = ""
    """The terminal reason that was sent, of a call that finished."""
    kind: str = ""
    """How a call broke; `ended`: its provider was killed."""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(kw_only=True, slots=True)
class SocketStory:
    """One socket from its opening to its close, which is infinite if the run ended before."""

    who: str
    role: str
    name: str
    events: list[HistoryEvent] = field(default_factory=list)
    closed_at: float = float("inf")

    def frames(self, *what: str) -> Iterator[tuple[HistoryEvent, Mapping[str, Any]]]:
        """(event, frame) of these kinds of events: `hello`, `got`, `sent`."""
        return ((event, event.frame) for event in self.events if event.what in what)


class Evidence:
    """Everything is computed once, when the first rule asks for it."""

    def __init__(self, history: RunHistory) -> None:
        self.history = history
        self.limits = history.limits

    @cached_property
    def ended_at(self) -> float:
        """When the run ended; the last moment of the history without that event."""
        last = self.history.events[-1].at if self.history.events else 0.0
        return next((event.at for event in self.history.of("run", "ended")), last)

    @cached_property
    def faults(self) -> FaultTimes:
        recovery_s = self.load.allow(RECOVERY_S, 0.0, self.ended_at)
        return FaultTimes(self.history, settle_s=float(self.limits.get("lease_s", 10.0)) + recovery_s)

    @cached_property
    def load(self) -> MachineLoad:
        """How busy the machine was: `allow` gives the limit of a deadline there."""
        return read_load(self.history)

    @cached_property
    def turns(self) -> Mapping[int, JudgedTurn]:
        """Stored turns by id, in order of arrival."""
        known = {one.name for one in fields(JudgedTurn)}
        rows = (
            {name: value for name, value in row.items() if name in known}
            for row in self.history.rows("turns")
        )
        return {turn.id: turn for turn in sorted((JudgedTurn(**row) for row in rows), key=lambda one: one.id)}

    @cached_property
    def turns_of(self) -> Mapping[int, Sequence[JudgedTurn]]:
        """Stored turns by conversation, in order of arrival."""
        by_conversation: dict[int, list[JudgedTurn]] = defaultdict(list)
        for turn in self.turns.values():
            by_conversation[turn.conversation].append(turn)
        return by_conversation

    @cached_property
    def conversation_of(self) -> Mapping[str, int]:
        """The conversation of each person."""
        return {name: int(facts["conversation"]) for name, facts in self.history.people.items()}

    @cached_property
    def person_of(self) -> Mapping[int, str]:
        """The person of each conversation."""
        return {conversation: name for name, conversation in self.conversation_of.items()}

    @cached_property
    def calls(self) -> Sequence[ProviderCall]:
        """All calls, in the order in which the provider was asked."""
        calls: dict[str, ProviderCall] = {}
        for event in self.history.of("provider"):
            name = str(event.data["call"])
            if event.what == "asked":
                calls[name] = ProviderCall(
                    call=name,
                    lane=event.name,
                    turn=_turn_of_request(str(event.data.get("request", ""))),
                    messages=event.data.get("messages") or (),
                    asked_at=event.at,
                )
            elif (call := calls.get(name)) is None:
                continue
            elif event.what == "piece":
                call.pieces.append(str(event.data["text"]))
            elif not call.how:
                call.how, call.ended_at = event.what, event.at
                call.reason = str(event.data.get("reason") or "")
                call.kind = str(event.data.get("kind") or "")
        return list(calls.values())

    @cached_property
    def calls_of(self) -> Mapping[int, Sequence[ProviderCall]]:
        """The calls of each turn, in order."""
        by_turn: dict[int, list[ProviderCall]] = defaultdict(list)
        for call in self.calls:
            if call.turn is not None:
                by_turn[call.turn].append(call)
        return by_turn

    @cached_property
    def sockets(self) -> Sequence[SocketStory]:
        """The sockets of pages and of staff, in order of opening."""
        stories: dict[str, SocketStory] = {}
        for event in self.history.events:
            if event.role not in ("page", "staff"):
                continue
            story = stories.get(event.who)
            if story is None:
                story = stories[event.who] = SocketStory(who=event.who, role=event.role, name=event.name)
            story.events.append(event)
            if event.what == "closed":
                story.closed_at = event.at
        return list(stories.values())

    @cached_property
    def pages(self) -> Sequence[SocketStory]:
        return [story for story in self.sockets if story.role == "page"]

    @cached_property
    def screens(self) -> Sequence[SocketStory]:
        """The sockets of staff."""
        return [story for story in self.sockets if story.role == "staff"]

    @cached_property
    def process_names(self) -> Mapping[str, str]:
        """The name of each process by the id of its row."""
        return {str(event.data["id"]): event.name for event in self.history.of("process", "started")}

    @cached_property
    def _codes(self) -> tuple[re.Pattern[str] | None, Mapping[str, str]]:
        owners = {str(facts["code"]): name for name, facts in self.history.people.items()}
        if not owners:
            return None, owners
        # The longest first, so that `kestrel-17` is not read as `kestrel-1`.
        either = "|".join(re.escape(code) for code in sorted(owners, key=len, reverse=True))
        return re.compile(rf"(?<![\w-])({either})-\d+(?![\w-])"), owners

    def owners_of_words(self, text: str) -> set[str]:
        """The people whose code words stand in a text."""
        pattern, owners = self._codes
        return {owners[found[1]] for found in pattern.finditer(text)} if pattern else set()

    def owners_of_frame(self, frame: Mapping[str, Any]) -> set[str]:
        """The people whose code words stand anywhere in a frame."""
        return self.owners_of_words(json.dumps(frame, ensure_ascii=False))

    @cached_property
    def drafted_lines(self) -> frozenset[str]:
        """Every drafted line that the record holds or a page was sent."""
        lines = {turn.line for turn in self.turns.values()}
        lines |= {opening["line"] for turn in self.turns.values() for opening in turn.openings}
        lines |= {str(row["text"]) for row in self.history.rows("entries") if row["kind"] != "said"}
        for story in self.sockets:
            lines |= {str(frame.get("line") or "") for _, frame in story.frames("got")}
        return frozenset(line for line in lines if len(line) >= MIN_LINE_CHARS)


def _turn_of_request(request: str) -> int | None:
    name, _, number = request.partition("-")
    return int(number) if name == "turn" and number.isdigit() else None
