"""The judge of the ordeal: valid histories pass every rule, and a history that breaks one promise breaks one rule."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from ops.ordeal.history import HistoryEvent, HistoryUnreadable, RunHistory, parse_history
from ops.ordeal.judge.verdict import RULES, judge
from tests.ordeal_edits import (
    Edit,
    add_event,
    all_of,
    change_calls,
    change_frames,
    change_prompt,
    change_rows,
    change_turn,
    edit_history,
    moved,
    rich_history,
    with_frame,
)
from tests.simulated_run.run import SimulatedRun
from tests.simulated_run.service import QUEUED

BEN = "heron-2"
BEHIND, REFUSED, LAST = 17, 18, 19
"""Turns of the history: behind another of its person, refused, with no other near."""
RICH = rich_history()


def drop(_event: HistoryEvent) -> Iterable[HistoryEvent]:
    return []


def twice(event: HistoryEvent) -> Iterable[HistoryEvent]:
    return [event, event]


def later(by_s: float) -> Any:
    return lambda event: [moved(event, by_s)]


def with_fields(**fields: Any) -> Any:
    return lambda event: [with_frame(event, **fields)]


def with_text(text: str) -> Any:
    return lambda event: [replace(event, data={**event.data, "text": text})]


def set_ceiling(ceiling: int) -> Edit:
    """Let the run have begun with another ceiling."""

    def edit(event: HistoryEvent) -> Iterable[HistoryEvent]:
        if (event.who, event.what) == ("run", "began"):
            limits = {**event.data["limits"], "ceiling": ceiling}
            return [replace(event, data={**event.data, "limits": limits})]
        return [event]

    return edit


def plus(by_s: float, *columns: str) -> dict[str, Any]:
    """Each of these columns of a row, later by so much."""
    return {column: lambda row, column=column: row[column] + by_s for column in columns}


def add_row(table: str, **values: Any) -> Edit:
    return change_rows(table, lambda rows: rows.append(values))


def copy_turn(turn: int, **values: Any) -> Edit:
    """Store a turn a second time."""
    return change_rows(
        "turns", lambda rows: rows.append({**next(row for row in rows if row["id"] == turn), **values})
    )


def change_row(table: str, row: int, **values: Any) -> Edit:
    def change(rows: list[dict[str, Any]]) -> None:
        next(one for one in rows if one["id"] == row).update(values)

    return change_rows(table, change)


def swap_admissions(one: int, other: int) -> Edit:
    def change(rows: list[dict[str, Any]]) -> None:
        first, second = (next(row for row in rows if row["id"] == turn) for turn in (one, other))
        for column in ("admitted_at", "first_word_at", "closed_at"):
            first[column], second[column] = second.get(column), first.get(column)

    return change_rows("turns", change)


def swap_held(messages: list[dict[str, str]]) -> None:
    questions = messages[-1]["content"].split("\n\n")
    messages[-1]["content"] = "\n\n".join([questions[1], questions[0], *questions[2:]])


def answer_with(text: str) -> Any:
    def change(messages: list[dict[str, str]]) -> None:
        next(message for message in messages if message["role"] == "assistant")["content"] = text

    return change


def put_before_question(text: str) -> Any:
    def change(messages: list[dict[str, str]]) -> None:
        messages[-1]["content"] = f"{text}\n\n{messages[-1]['content']}"

    return change


def put_into_system(text: str) -> Any:
    return lambda messages: messages[0].update(content=text)


HALF = next(row["reply"] for row in RICH.rows("turns") if row["id"] == 4)
RED = next(row["question"] for row in RICH.rows("turns") if row["id"] == 7)
KEY = next(row["key"] for row in RICH.rows("turns") if row["id"] == 10)

BREACHES: dict[str, Edit] = {
    "shown-is-stored": change_frames(
        {"type": "words", "turn": LAST, "seq": 3}, with_fields(text="something else ")
    ),
    "words-once-in-order": change_frames({"type": "words", "turn": LAST, "seq": 3}, twice),
    "one-text": all_of(
        add_event(
            140.0, "staff:tess/1", "got", frame={"type": "words", "turn": LAST, "seq": 1, "text": "Ab"}
        ),
        add_event(
            140.1, "staff:tess/1", "got", frame={"type": "words", "turn": LAST, "seq": 2, "text": "out "}
        ),
    ),
    "end-as-stored": change_frames({"type": "stopped", "turn": 6}, with_fields(type="handed_over")),
    "no-page-stays-writing": change_frames({"type": "complete", "turn": LAST}, drop),
    "unread-is-bounded": change_frames({"type": "ack", "turn": 13}, drop, what="sent"),
    "accepted-is-stored": change_frames({"type": "accepted", "turn": LAST}, with_fields(key="another key")),
    "one-turn": copy_turn(10, id=99),
    "every-turn-ends": change_turn(LAST, **plus(100.0, "closed_at")),
    "dead-are-swept": change_turn(15, **plus(6.0, "closed_at")),
    "refused-in-time": change_turn(REFUSED, **plus(10.0, "created_at")),
    "one-reply": all_of(set_ceiling(2), change_turn(BEHIND, admitted_at=93.0)),
    "slots-are-taken": change_turn(LAST, **plus(5.0, "admitted_at", "first_word_at", "closed_at")),
    "whole-answer": change_calls(
        LAST,
        "finished",
        lambda event: [
            HistoryEvent(
                at=event.at - 0.01,
                who=event.who,
                what="piece",
                data={"call": event.data["call"], "text": "and more"},
            ),
            event,
        ],
    ),
    "stored-was-said": change_calls(15, "piece", with_text("Anything ")),
    "no-second-call": change_turn(
        18,
        attempts=[
            {"number": 0, "lane": "first", "failure": "network", "words": 2},
            {"number": 1, "lane": "first", "failure": "", "words": 9},
        ],
    ),
    "ceiling-at-the-provider": change_calls(14, "asked", later(-5.0)),
    "ceiling-on-record": change_turn(14, admitted_at=60.0),
    "calls-are-let-go": change_calls(6, "left", later(5.0)),
    "slots-are-used": all_of(
        change_calls(LAST, "asked", drop),
        change_turn(LAST, state="paused", reply="", attempts=[], line=QUEUED, **plus(5.0, "closed_at")),
        change_frames({"turn": LAST}, drop),
    ),
    "order-of-arrival": swap_admissions(2, 3),
    "roles-alternate": change_prompt(LAST, lambda messages: messages.pop(2)),
    "no-half-answer": change_prompt(LAST, answer_with(HALF)),
    "no-drafted-line": change_prompt(LAST, put_before_question(QUEUED)),
    "held-in-order": change_prompt(5, swap_held),
    "held-are-answered": change_turn(4, answered_by=None),
    "red-stays-out": change_prompt(LAST, put_into_system(RED)),
    "own-words-on-pages": add_event(
        140.0, "page:person1/2", "got", frame={"type": "still_here", "turn": LAST, "line": f"{BEN}-1"}
    ),
    "own-words-on-screens": add_event(
        140.0, "staff:sam/1", "got", frame={"type": "writing", "conversation": 101, "text": f"{BEN}-1"}
    ),
    "own-words-in-prompts": change_prompt(LAST, put_into_system(f"You are kind to {BEN}-1.")),
    "own-words-on-record": all_of(
        change_turn(10, question=f"Hello {BEN}-1"),
        change_frames({"type": "say", "key": KEY}, with_fields(text=f"Hello {BEN}-1"), what="sent"),
    ),
    "every-cause-rings": change_row("flags", 1, source="reply"),
    "flags-are-kept": add_event(
        60.0, "staff:tess/1", "got", frame={"type": "flag", "id": 9, "tier": "red", "state": "open"}
    ),
    "flags-close-by-hand": change_frames({"type": "close"}, drop, what="sent"),
    "one-owner": add_event(60.0, "staff:tess/1", "got", frame={"type": "done", "act": "accept", "flag": 1}),
    "line-in-time": change_frames({"type": "safety"}, later(5.0)),
    "one-person": all_of(
        add_row(
            "entries",
            id=9,
            conversation=102,
            kind="leaves",
            key=None,
            person=7,
            name="sam",
            text="Gone.",
            after_turn=0,
            at=60.0,
        ),
        add_row("audit", id=99, at=60.0, who="sam", what="handed_back", about=102, note="entry 9"),
    ),
    "companion-is-silent": change_turn(11, created_at=26.0, admitted_at=26.5),
    "no-word-after-a-person": change_frames({"type": "person", "state": "joins"}, later(-0.15)),
    "pauses-hold": all_of(
        add_row("pauses", id=9, scope="site", about=1, by_name="sam", at=125.0, ended_at=139.0),
        add_row("audit", id=99, at=125.0, who="sam", what="paused_companion", about=None, note=""),
        add_row("audit", id=98, at=139.0, who="sam", what="resumed_companion", about=None, note=""),
    ),
    "entries-in-order": change_frames({"type": "said"}, twice),
    "acts-on-record": change_rows("audit", lambda rows: rows.pop(0)),
    "granted-is-stored": change_frames({"type": "done", "act": "take_over"}, with_fields(entry=99)),
    "attempts-on-record": change_turn(LAST, attempts=[]),
    "times-in-order": change_turn(LAST, first_word_at=129.0),
    "nothing-left": add_row("left", kind="process", name="web-1"),
}


def broken_rules(edit: Edit) -> set[str]:
    return {violation.rule for violation in judge(edit_history(RICH, edit)).violations}


def load(runnable: float, *, late_s: float = 0.0) -> Edit:
    """Let the machine of two cores have been as busy for the whole run."""
    samples = [
        HistoryEvent(
            at=float(at),
            who="machine",
            what="load",
            data={"runnable": runnable, "cores": 2, "late_s": late_s},
        )
        for at in range(140)
    ]

    def edit(event: HistoryEvent) -> Iterable[HistoryEvent]:
        return [event, *samples] if (event.who, event.what) == ("run", "began") else [event]

    return edit


@pytest.mark.parametrize(
    ("machine", "is_broken"),
    [
        pytest.param(load(12.0), True, id="one that works"),
        pytest.param(load(36.0), False, id="one with three times as much to do"),
        pytest.param(load(2.0, late_s=0.9), False, id="one that stood still"),
    ],
)
def test_deadlines_are_longer_on_a_machine_that_has_other_work(machine: Edit, is_broken: bool) -> None:
    late = change_frames({"type": "safety"}, later(3.5))

    assert ("line-in-time" in broken_rules(all_of(machine, late))) == is_broken


def test_a_busy_machine_excuses_no_text_and_no_order() -> None:
    assert broken_rules(all_of(load(60.0), BREACHES["shown-is-stored"])) == {"shown-is-stored"}
    assert broken_rules(all_of(load(60.0), BREACHES["held-in-order"])) == {"held-in-order"}


@pytest.mark.parametrize("seed", range(100))
def test_a_valid_history_passes_every_rule(seed: int) -> None:
    history = SimulatedRun(seed, people=2 + seed % 4).run()

    assert judge(history).violations == ()


def test_every_rule_looks_at_something_in_the_history_where_everything_happens() -> None:
    verdict = judge(RICH)

    assert (verdict.violations, verdict.idle) == ((), [])


def test_every_rule_has_a_breach_of_its_own() -> None:
    assert list(BREACHES) == sorted(BREACHES, key=[rule.name for rule in RULES].index)
    assert set(BREACHES) == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", BREACHES)
def test_a_history_that_breaks_one_promise_breaks_exactly_its_rule(rule: str) -> None:
    assert broken_rules(BREACHES[rule]) == {rule}


def write_line_of_two() -> RunHistory:
    """A turn waits 44 s: a slot is free for 5 s after a kill, then taken, then free for 20 s with no fault near."""

    def turn(number: int, **times: float) -> dict[str, Any]:
        facts = {"conversation": number, "key": f"key-{number}", "question": "?", "owner": "p-1"}
        return {"id": number, "state": "complete", **facts, **times}

    events: list[tuple[str, str, float, dict[str, Any]]] = [
        ("run", "began", 0.0, {"limits": {"ceiling": 1, "lanes": {}, "lease_s": 10.0}}),
        ("fault", "begins", 6.0, {"fault": "kill", "target": "web-1"}),
        ("fault", "ends", 6.0, {"fault": "kill", "target": "web-1"}),
        ("run", "ended", 60.0, {}),
    ]
    rows = [
        turn(1, created_at=6.0, admitted_at=11.0, closed_at=30.0),
        turn(2, created_at=6.0, admitted_at=50.0, closed_at=51.0),
    ]
    events.append(("record", "stored", 61.0, {"table": "turns", "rows": rows}))
    return RunHistory([HistoryEvent(at=at, who=who, what=what, data=data) for who, what, at, data in events])


def test_each_time_in_which_a_slot_is_free_is_judged_after_one_that_a_fault_explains() -> None:
    found = [one for one in judge(write_line_of_two()).violations if one.rule == "slots-are-taken"]

    assert [(one.turn, one.text) for one in found] == [
        (2, "a slot was free for 20.0 s while the turn waited, 0.0 s of them under faults")
    ]


def test_a_history_is_read_from_its_lines_in_order_of_time() -> None:
    lines = [event.to_line() for event in reversed(RICH.events)]

    read = parse_history(lines)

    assert [event.at for event in read.events] == sorted(event.at for event in RICH.events)
    assert judge(read).violations == ()


def test_a_run_without_its_end_is_not_judged() -> None:
    unfinished = edit_history(RICH, lambda event: [] if event.who == "record" else [event])

    with pytest.raises(HistoryUnreadable, match="its end"):
        judge(unfinished)


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"at": 1, "who": "run"}', '{"at": "x", "who": "a", "what": "b"}']
)
def test_a_line_that_is_no_event_is_named(line: str) -> None:
    with pytest.raises(HistoryUnreadable, match="line 2"):
        parse_history([RICH.events[0].to_line(), line])
