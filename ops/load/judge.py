"""PURE. What must be so whatever the load: the ceiling, the order, the texts, an end to everything."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companion.states import Reason
from ops.load.stored import Kept

ENDED_WELL = frozenset({"complete", "stopped", "refused"})
LEFT_THE_LINE = frozenset({Reason.LOST, Reason.DRAINED, Reason.AWAY})
"""A turn that ended for these reasons before it was let in had nobody who could have used the slot."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at. `found` says what was seen, for people."""

    what: str
    held: bool
    found: str


def checks(
    told: Mapping[str, Any],
    kept: Sequence[Kept],
    digests: Mapping[int, tuple[str, int]],
    *,
    ceiling: int,
    peak: int,
    sampled: int,
    may_break: bool,
) -> list[Check]:
    """Every check of one load test. `may_break`: a process was killed on purpose, so replies may have paused."""
    inversions = sum(1 for _ in out_of_order(kept))
    in_line = sum(1 for one in kept if one.ours and one.admitted_at is not None)
    unlike = sum(1 for turn in told["turns"] if not _is_as_stored(turn, digests))
    errors = errors_by_kind(told)
    unended = [one.turn for one in kept if one.ours and one.closed_at is None]
    return [
        Check(
            what="Never more turns at the provider than the ceiling",
            held=peak <= ceiling,
            found=f"at most {peak} of {ceiling}, asked {sampled} times",
        ),
        Check(
            what="First come, first served",
            held=not inversions,
            found=f"{inversions} of {in_line} out of order",
        ),
        Check(
            what="Every text received is the text stored",
            held=not unlike,
            found=f"{unlike} of {len(told['turns'])} differ",
        ),
        Check(
            what="Every turn has its end",
            held=not unended and not told["overdue"],
            found=f"{len(unended)} without one" + (", broken off at the limit" if told["overdue"] else ""),
        ),
        Check(
            what="No errors",
            held=not errors or (may_break and set(errors) <= {"paused: lost"}),
            found=", ".join(f"{count} × {kind}" for kind, count in errors.items()) or "none",
        ),
    ]


def out_of_order(kept: Sequence[Kept]) -> Iterator[tuple[int, int]]:
    """Pairs (earlier, later) in which the later turn was let in while the earlier one could have been.

    A person's second question cannot be let in before the end of the first, so it stands in line from then on.
    """
    by_conversation: dict[int, float] = {}
    in_line: list[tuple[float, float, int]] = []
    for one in sorted(kept, key=lambda turn: turn.turn):
        begins = max(one.created_at, by_conversation.get(one.conversation, 0.0))
        closed_at = float("inf") if one.closed_at is None else one.closed_at
        ends = closed_at if one.admitted_at is None else one.admitted_at
        by_conversation[one.conversation] = closed_at
        if ends > begins and (one.admitted_at is not None or one.reason not in LEFT_THE_LINE):
            in_line.append((begins, ends, one.turn))
    yield from _overtaken(in_line, {one.turn: one.admitted_at for one in kept if one.admitted_at is not None})


def _overtaken(
    in_line: Sequence[tuple[float, float, int]], admitted: Mapping[int, float]
) -> Iterator[tuple[int, int]]:
    """Walk through time: at each admission nobody who stands in line may have come before the one let in."""
    events = [(at, 1, turn) for turn, at in admitted.items()]
    events += [(begins, 0, turn) for begins, _, turn in in_line]
    leaves = {turn: ends for _, ends, turn in in_line}
    line: list[int] = []
    for at, kind, turn in sorted(events):
        if kind == 0:
            heapq.heappush(line, turn)
            continue
        while line and leaves[line[0]] <= at:
            heapq.heappop(line)
        if line and line[0] < turn:
            yield line[0], turn


def slots_taken(kept: Sequence[Kept]) -> list[float]:
    """For every freed slot that somebody waited for: the seconds until it was taken, by the stored times."""
    freed: list[float] = []
    taken: list[float] = []
    admitted = [
        (one.admitted_at, one.closed_at, one.created_at) for one in kept if one.admitted_at is not None
    ]
    events = [(closed, 0, created) for _, closed, created in admitted if closed is not None]
    events += [(began, 1, created) for began, _, created in admitted]
    for at, kind, created_at in sorted(events):
        if kind == 0:
            heapq.heappush(freed, at)
        elif freed:
            free_since = heapq.heappop(freed)
            # Whoever came after the slot was free has not waited for it.
            if created_at < free_since:
                taken.append(at - free_since)
    return taken


def errors_by_kind(told: Mapping[str, Any]) -> dict[str, int]:
    """How often each kind of error met somebody: sessions that did not open, turns that did not end well."""
    kinds = Counter(f"session {kind}" for kind in told["not_opened"])
    kinds.update(
        f"paused: {turn['reason']}" if turn["how"] == "paused" else turn["how"]
        for turn in told["turns"]
        if turn["how"] not in ENDED_WELL
    )
    return dict(kinds.most_common())


def _is_as_stored(turn: Mapping[str, Any], digests: Mapping[int, tuple[str, int]]) -> bool:
    shown: int = turn["length"]
    if turn["turn"] is None:
        return shown == 0
    digest, length = digests.get(turn["turn"], ("", -1))
    # Of a reply that broke off the last words may be stored and never shown; never the other way round.
    is_whole = shown == length or turn["how"] not in ENDED_WELL
    return is_whole and bool(turn["digest"] == digest)
