"""PURE. What must hold under any load: the ceiling, the order of admission, the texts, and an end for every turn."""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companion.states import Reason
from ops.load.stored import StoredTurn
from ops.testbed.arrival_order import Arrival, find_out_of_order

ENDED_WELL = frozenset({"complete", "stopped", "refused"})
LEFT_THE_LINE = frozenset({Reason.LOST, Reason.DRAINED, Reason.AWAY})
"""A turn that ended for these reasons before its admission had no live page or process to use a slot."""


@dataclass(frozen=True, kw_only=True)
class InvariantCheck:
    """One invariant and whether it held. `found` is the evidence, as text."""

    what: str
    held: bool
    found: str


def check_invariants(
    results: Mapping[str, Any],
    stored: Sequence[StoredTurn],
    digests: Mapping[int, tuple[str, int]],
    *,
    ceiling: int,
    peak: int,
    sampled: int,
    may_break: bool,
) -> list[InvariantCheck]:
    """Check one load test. `may_break`: a process was killed on purpose, so replies may have paused."""
    inversions = sum(1 for _ in find_out_of_order([to_arrival(turn) for turn in stored]))
    admitted = sum(1 for turn in stored if turn.ours and turn.admitted_at is not None)
    different = sum(1 for turn in results["turns"] if not _is_as_stored(turn, digests))
    errors = count_errors(results)
    unended = [turn.turn for turn in stored if turn.ours and turn.closed_at is None]
    return [
        InvariantCheck(
            what="Never more turns at the provider than the ceiling",
            held=peak <= ceiling,
            found=f"at most {peak} of {ceiling}, asked {sampled} times",
        ),
        InvariantCheck(
            what="First come, first served",
            held=not inversions,
            found=f"{inversions} of {admitted} out of order",
        ),
        InvariantCheck(
            what="Every text received is the text stored",
            held=not different,
            found=f"{different} of {len(results['turns'])} differ",
        ),
        InvariantCheck(
            what="Every turn has its end",
            held=not unended and not results["overdue"],
            found=f"{len(unended)} without one" + (", aborted at the limit" if results["overdue"] else ""),
        ),
        InvariantCheck(
            what="No errors",
            held=not errors or (may_break and set(errors) <= {"paused: lost"}),
            found=", ".join(f"{count} × {kind}" for kind, count in errors.items()) or "none",
        ),
    ]


def to_arrival(turn: StoredTurn) -> Arrival:
    """A stored turn as the rule of the waiting line sees it."""
    return Arrival(
        turn=turn.turn,
        conversation=turn.conversation,
        created_at=turn.created_at,
        admitted_at=turn.admitted_at,
        closed_at=turn.closed_at,
        left_the_line=turn.reason in LEFT_THE_LINE,
    )


def slot_delays(stored: Sequence[StoredTurn]) -> list[float]:
    """For each freed slot that a turn was waiting for: seconds until it was taken, by the stored times."""
    freed: list[float] = []
    delays: list[float] = []
    admitted = [
        (turn.admitted_at, turn.closed_at, turn.created_at) for turn in stored if turn.admitted_at is not None
    ]
    events = [(closed, 0, created) for _, closed, created in admitted if closed is not None]
    events += [(began, 1, created) for began, _, created in admitted]
    for at, kind, created_at in sorted(events):
        if kind == 0:
            heapq.heappush(freed, at)
        elif freed:
            free_since = heapq.heappop(freed)
            # A turn that arrived after the slot was freed has not waited for it.
            if created_at < free_since:
                delays.append(at - free_since)
    return delays


def count_errors(results: Mapping[str, Any]) -> dict[str, int]:
    """Count sessions that did not open and turns that did not end well, by kind of error."""
    kinds = Counter(f"session {kind}" for kind in results["not_opened"])
    kinds.update(
        f"paused: {turn['reason']}" if turn["how"] == "paused" else turn["how"]
        for turn in results["turns"]
        if turn["how"] not in ENDED_WELL
    )
    return dict(kinds.most_common())


def _is_as_stored(turn: Mapping[str, Any], digests: Mapping[int, tuple[str, int]]) -> bool:
    shown_length: int = turn["length"]
    if turn["turn"] is None:
        return shown_length == 0
    digest, length = digests.get(turn["turn"], ("", -1))
    # A reply that broke off may have stored words that were never shown, but no shown words that were not stored.
    is_whole = shown_length == length or turn["how"] not in ENDED_WELL
    return is_whole and bool(turn["digest"] == digest)
