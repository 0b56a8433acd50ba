"""A history in which everything happens, and edits that break one promise in it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ops.ordeal.history import HistoryEvent, RunHistory
from tests.simulated_run.run import SimulatedRun

Edit = Callable[[HistoryEvent], Iterable[HistoryEvent]]


def rich_history() -> RunHistory:
    """Two people and two members of staff; every kind of end, at its place in the comments."""
    run = SimulatedRun(1, people=2, minutes=3.0, ceiling=1, planned=False)
    people, staff = run.participants, run.staff
    ann, ben = run.people
    # Whole, a break before the first word, two half answers, whole for all three, then whole ones.
    run.service.fates = [None, 0, 2, 2, *[None] * 40]
    run.later(1.0, lambda: people.say(ann))  # turn 1: complete
    run.later(1.1, lambda: people.say(ben))  # turn 2: waits, then breaks before its first word
    run.later(1.2, lambda: people.say(ann))  # turn 3: waits behind turn 2, a half answer
    run.later(4.0, lambda: people.say(ann))  # turn 4: a half answer
    run.later(6.0, lambda: people.say(ann))  # turn 5: answers three questions
    run.later(9.0, lambda: people.say(ben))  # turn 6: answers two, is stopped
    run.later(9.6, lambda: people.stop(ben))
    run.later(12.0, lambda: run.service.reconnect(ben))
    run.later(13.0, lambda: people.say_red(ann))  # turn 7, flag 1
    run.later(20.0, lambda: people.say_twice(ben))  # turn 8
    run.later(24.0, lambda: people.say(ann))  # turn 9: handed over in the middle
    run.later(24.4, lambda: staff.take_over(ann))
    run.later(25.0, lambda: people.say(ann))  # turn 10: a person reads it
    run.later(30.0, lambda: people.say(ann))  # turn 11
    run.later(35.0, lambda: people.press_help(ben))  # flag 2
    run.later(40.0, lambda: staff.pause(ben))
    run.later(43.0, lambda: people.say(ben))  # turn 12: paused by staff
    run.later(50.0, lambda: people.say(ben, extra_words=220))  # turn 13: long
    run.later(50.2, lambda: people.say(ann))  # turn 14
    run.later(70.0, lambda: people.say(ann, extra_words=60))  # turn 15: its process is killed
    run.later(71.0, run.service.kill_busy)
    run.later(90.0, lambda: people.say(ann, extra_words=520))  # turn 16: so long that turn 18 is refused
    run.later(92.0, lambda: people.say(ann))  # turn 17: waits behind it
    run.later(95.0, lambda: people.say(ben))
    run.later(130.0, lambda: people.say(ann))  # turn 19: no other turn is near
    return run.run()


def edit_history(history: RunHistory, edit: Edit) -> RunHistory:
    """Replace each event by what `edit` makes of it; in order of time."""
    events = [after for event in history.events for after in edit(event)]
    return RunHistory(sorted(events, key=lambda event: event.at))


def change_rows(table: str, change: Callable[[list[dict[str, Any]]], object]) -> Edit:
    """Change the stored rows of one table."""

    def edit(event: HistoryEvent) -> Iterable[HistoryEvent]:
        if event.who == "record" and event.data["table"] == table:
            rows = [dict(row) for row in event.data["rows"]]
            change(rows)
            return [replace(event, data={**event.data, "rows": rows})]
        return [event]

    return edit


def change_turn(turn: int, **values: Any) -> Edit:
    """Set columns of one stored turn. A function gets the turn's row."""

    def change(rows: list[dict[str, Any]]) -> None:
        row = next(row for row in rows if row["id"] == turn)
        row.update({name: value(row) if callable(value) else value for name, value in values.items()})

    return change_rows("turns", change)


def change_frames(
    wanted: Mapping[str, Any], change: Callable[[HistoryEvent], Iterable[HistoryEvent]], *, what: str = "got"
) -> Edit:
    """Change the events of `what` whose frame has these fields."""

    def edit(event: HistoryEvent) -> Iterable[HistoryEvent]:
        fits = event.what == what and all(event.frame.get(name) == value for name, value in wanted.items())
        return change(event) if fits else [event]

    return edit


def with_frame(event: HistoryEvent, **fields: Any) -> HistoryEvent:
    """The event with other fields in its frame."""
    return replace(event, data={**event.data, "frame": {**event.frame, **fields}})


def moved(event: HistoryEvent, by_s: float) -> HistoryEvent:
    return replace(event, at=event.at + by_s)


def change_calls(turn: int, what: str, change: Callable[[HistoryEvent], Iterable[HistoryEvent]]) -> Edit:
    """Change the events `what` of the calls of one turn."""
    calls: set[str] = set()

    def edit(event: HistoryEvent) -> Iterable[HistoryEvent]:
        if event.role == "provider":
            if event.data.get("request") == f"turn-{turn}":
                calls.add(event.data["call"])
            if event.what == what and event.data["call"] in calls:
                return change(event)
        return [event]

    return edit


def change_prompt(turn: int, change: Callable[[list[dict[str, str]]], object]) -> Edit:
    """Change the messages that the provider was sent for one turn."""

    def edit(event: HistoryEvent) -> Iterable[HistoryEvent]:
        messages = [dict(message) for message in event.data["messages"]]
        change(messages)
        return [replace(event, data={**event.data, "messages": messages})]

    return change_calls(turn, "asked", edit)


def add_event(at: float, who: str, what: str, **data: Any) -> Edit:
    """Add one event."""
    extra = HistoryEvent(at=at, who=who, what=what, data=data)

    def edit(event: HistoryEvent) -> Iterable[HistoryEvent]:
        return [event, extra] if (event.who, event.what) == ("run", "began") else [event]

    return edit


def all_of(*edits: Edit) -> Edit:
    """One edit after the other."""

    def edit(event: HistoryEvent) -> Iterable[HistoryEvent]:
        events = [event]
        for one in edits:
            events = [after for before in events for after in one(before)]
        return events

    return edit
