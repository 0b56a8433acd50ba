"""PURE. One run as a picture: rows of people, staff and processes, bars over time, faults behind them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ops.ordeal.history import RunHistory
from ops.ordeal.judge.evidence import Evidence
from ops.ordeal.judge.findings import Violation

WIDTH, ROW_HEIGHT, LABEL_WIDTH = 900, 18, 110
MIN_BAR = 1.5
KINDS = ("waiting", "speaking", "open", "fault", "person", "flag")
"""The kinds of bars, each with its own look and its own place in the legend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One bar or, with a small width, one mark. `title` is its text alternative."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartRow:
    """One row: its label, and y of its middle."""

    label: str
    y: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RunChart:
    """Everything that the template draws. `marks` are the x of violations."""

    rows: Sequence[ChartRow]
    bars: Sequence[Bar]
    marks: Sequence[tuple[float, str]]
    ticks: Sequence[tuple[float, str]]
    height: float
    width: int = WIDTH


def draw_run(history: RunHistory, violations: Sequence[Violation]) -> RunChart:
    """Draw people, staff, processes and faults over the time of a run."""
    return _Drawing(history, violations).draw()


class _Drawing:
    def __init__(self, history: RunHistory, violations: Sequence[Violation]) -> None:
        self._evidence = Evidence(history)
        self._history = history
        self._violations = violations
        self._ends = max(self._evidence.ended_at, 1.0)
        processes = {event.name for event in history.of("process")}
        self._labels = [
            "faults",
            *self._evidence.conversation_of,
            *history.start.get("staff", {}),
            *sorted(processes),
        ]

    def draw(self) -> RunChart:
        bars = [*self._faults(), *self._people(), *self._staff(), *self._processes()]
        rows = [ChartRow(label=label, y=self._y(label) + 12) for label in self._labels]
        step = max(5, round(self._ends / 10 / 5) * 5)
        return RunChart(
            rows=rows,
            bars=bars,
            marks=[(self._x(one.at), f"{one.rule}: {one.text}") for one in self._violations[:50]],
            ticks=[(self._x(at), f"{at} s") for at in range(0, int(self._ends) + 1, step)],
            height=ROW_HEIGHT * len(self._labels) + 24,
        )

    def _x(self, at: float) -> float:
        inside = min(max(at, 0.0), self._ends) / self._ends
        return round(LABEL_WIDTH + inside * (WIDTH - LABEL_WIDTH), 1)

    def _y(self, label: str) -> float:
        return float(ROW_HEIGHT * self._labels.index(label))

    def _bar(
        self, label: str, kind: str, begins: float, ends: float, title: str, *, inset: float = 3.0
    ) -> Bar:
        x = self._x(begins)
        width = max(MIN_BAR, round(self._x(min(ends, self._ends)) - x, 1))
        y = self._y(label) + inset
        return Bar(kind=kind, x=x, y=y, width=width, height=ROW_HEIGHT - 2 * inset, title=title)

    def _faults(self) -> Iterator[Bar]:
        for span in self._evidence.faults.spans:
            title = f"{span.fault} {span.target}, {span.begins:.1f} to {span.ends:.1f} s"
            yield self._bar("faults", "fault", span.begins, span.ends, title)
            if span.target in self._labels:
                yield self._bar(span.target, "fault", span.begins, span.ends, title, inset=0.0)
        for event in self._history.of("fault", "changed"):
            title = f"{event.data['subject']} changed, {event.at:.1f} s"
            yield self._bar("faults", "flag", event.at, event.at, title)

    def _people(self) -> Iterator[Bar]:
        for story in self._evidence.pages:
            begins = story.events[0].at
            title = f"{story.who}, {begins:.1f} to {min(story.closed_at, self._ends):.1f} s"
            if story.name in self._labels:
                yield self._bar(story.name, "open", begins, story.closed_at, title, inset=7.0)
        for turn in self._evidence.turns.values():
            person = self._evidence.person_of.get(turn.conversation, "")
            if person not in self._labels:
                continue
            admitted = turn.admitted_at if turn.admitted_at is not None else turn.ends_at
            what = f"turn {turn.id}: {turn.state} {turn.reason}".rstrip()
            if admitted > turn.created_at:
                yield self._bar(person, "waiting", turn.created_at, admitted, what)
            if turn.admitted_at is not None:
                yield self._bar(person, "speaking", turn.admitted_at, turn.ends_at, what)
            if turn.state == "safety":
                yield self._bar(person, "flag", turn.created_at, turn.created_at, what)
        yield from self._take_overs()

    def _take_overs(self) -> Iterator[Bar]:
        joined: dict[int, float] = {}
        for row in self._history.rows("entries"):
            conversation = int(row["conversation"])
            person = self._evidence.person_of.get(conversation, "")
            if row["kind"] == "joins":
                joined[conversation] = float(row["at"])
            elif row["kind"] in ("leaves", "lost") and conversation in joined and person in self._labels:
                begins = joined.pop(conversation)
                yield self._bar(person, "person", begins, row["at"], f"{row['name']} speaks", inset=6.0)

    def _staff(self) -> Iterator[Bar]:
        for story in self._evidence.screens:
            if story.name in self._labels:
                begins = story.events[0].at
                yield self._bar(story.name, "open", begins, story.closed_at, story.who, inset=7.0)

    def _processes(self) -> Iterator[Bar]:
        started: dict[str, float] = {}
        for event in self._history.of("process"):
            if event.what == "started":
                started[event.name] = event.at
            elif event.name in started:
                title = f"{event.name} ended with code {event.data.get('code')}"
                yield self._bar(event.name, "open", started.pop(event.name), event.at, title, inset=7.0)
        for name, at in started.items():
            yield self._bar(name, "open", at, self._ends, name, inset=7.0)


def count_in_flight(history: RunHistory) -> list[tuple[float, int]]:
    """(seconds, open calls of turns) at each change, for the plot beside the ceiling."""
    evidence = Evidence(history)
    steps = sorted(
        change
        for call in evidence.calls
        if call.turn is not None
        for change in ((call.asked_at, 1), (min(call.ended_at, evidence.ended_at), -1))
    )
    samples, count = [(0.0, 0)], 0
    for (at, step), (following, _) in pairwise([*steps, (evidence.ended_at, 0)]):
        count += step
        if following > at:
            samples.append((at, count))
    return [*samples, (evidence.ended_at, count)]
