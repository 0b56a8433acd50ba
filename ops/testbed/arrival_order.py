"""PURE. First come, first served: finds turns that were admitted while an earlier one waited."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """One turn in line. Times in seconds of one clock; None: it did not happen."""

    turn: int
    conversation: int
    created_at: float
    admitted_at: float | None
    closed_at: float | None
    left_the_line: bool = False
    """It ended before its admission because its page or its process was gone: it could not use a slot."""


def find_out_of_order(arrivals: Sequence[Arrival]) -> Iterator[tuple[int, int]]:
    """Pairs (earlier, later) of turns where the later was admitted while the earlier was waiting.

    A person's second question cannot be admitted before the first has ended, so it waits only from then on.
    """
    closed_by_conversation: dict[int, float] = {}
    waiting: list[tuple[float, float, int]] = []
    for turn in sorted(arrivals, key=lambda turn: turn.turn):
        waits_from = max(turn.created_at, closed_by_conversation.get(turn.conversation, 0.0))
        closed_at = float("inf") if turn.closed_at is None else turn.closed_at
        waits_until = closed_at if turn.admitted_at is None else turn.admitted_at
        closed_by_conversation[turn.conversation] = closed_at
        if waits_until > waits_from and not (turn.admitted_at is None and turn.left_the_line):
            waiting.append((waits_from, waits_until, turn.turn))
    admitted = {turn.turn: turn.admitted_at for turn in arrivals if turn.admitted_at is not None}
    yield from _find_overtaken(waiting, admitted)


def _find_overtaken(
    waiting: Sequence[tuple[float, float, int]], admitted: Mapping[int, float]
) -> Iterator[tuple[int, int]]:
    """Replay arrivals and admissions in time: at each admission no earlier turn may still be waiting."""
    events = [(at, 1, turn) for turn, at in admitted.items()]
    events += [(waits_from, 0, turn) for waits_from, _, turn in waiting]
    left_at = {turn: waits_until for _, waits_until, turn in waiting}
    queue: list[int] = []
    for at, kind, turn in sorted(events):
        if kind == 0:
            heapq.heappush(queue, turn)
            continue
        while queue and left_at[queue[0]] <= at:
            heapq.heappop(queue)
        if queue and queue[0] < turn:
            yield queue[0], turn
