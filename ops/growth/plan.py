"""PURE. What a growth run measures: what grows, to which sizes, and what is done at each size. All is bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

MOST_ROWS = 20_000_000

TURNS, CONVERSATION, PEOPLE, WAITING, FLAGS, RECORD = (
    "turns",
    "conversation",
    "people",
    "waiting",
    "flags",
    "record",
)
TITLES: Mapping[str, str] = {
    TURNS: "stored turns",
    CONVERSATION: "turns of one conversation",
    PEOPLE: "participants",
    WAITING: "waiting turns",
    FLAGS: "open flags",
    RECORD: "entries of the audit record",
}

_LISTS = ("list_now", "list_answered", "list_paused", "list_held", "list_expired", "list_refused")
_STAFF = ("status", "dashboard", "desk", "people", "search", *_LISTS, "list_all_paused", "shift")
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    TURNS: (
        "page",
        "hello",
        "reply",
        "earlier",
        "gate",
        "sweep",
        *_STAFF,
        "conversation_page",
        "retention_batch",
        "retention",
        "minute",
        "second",
    ),
    CONVERSATION: ("page", "hello", "reply", "earlier", "conversation_page", "print"),
    PEOPLE: (
        "page",
        "hello",
        "reply",
        "gate",
        *_STAFF,
        "record_of_site",
        "needs_reviews",
        "cards",
        "retention",
        "minute",
        "second",
    ),
    WAITING: (
        "hello",
        "queue",
        "gate",
        "sweep",
        "status",
        "dashboard",
        "desk",
        "list_now",
        "minute",
        "second",
    ),
    FLAGS: (
        "hello",
        "status",
        "dashboard",
        "desk",
        "people",
        "shift",
        "times",
        "minute",
        "second",
    ),
    RECORD: (
        "record_of_site",
        "record_of_person",
        "record_by_who",
        "record_by_act",
        "record_since",
        "record_all",
        "search",
        "conversation_page",
    ),
}
"""What is done at each size of what grows."""


class PlanOutOfBounds(Exception):
    """A growth run cannot be planned like this. The text says why."""


@dataclass(frozen=True, kw_only=True)
class Growing:
    """One thing that grows, to sizes in rising order."""

    name: str
    sizes: tuple[int, ...]

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @property
    def operations(self) -> tuple[str, ...]:
        return OPERATIONS[self.name]


@dataclass(frozen=True, kw_only=True)
class GrowthPlan:
    """One run. What grew stays grown: each thing grows beside the largest size of those before it."""

    growing: tuple[Growing, ...]
    repeats: int
    """How often each operation is done for its time, and again for its plans."""
    background_s: float
    """How long a process is watched that nothing is asked of."""


def whole() -> GrowthPlan:
    """The sizes that a large programme reaches in years. Takes some 15 minutes and 10 GB of disk."""
    return GrowthPlan(
        growing=(
            Growing(name=TURNS, sizes=(1_000, 100_000, 5_000_000)),
            Growing(name=CONVERSATION, sizes=(10, 1_000, 10_000)),
            Growing(name=PEOPLE, sizes=(100, 10_000, 100_000)),
            Growing(name=WAITING, sizes=(100, 2_000, 20_000)),
            Growing(name=FLAGS, sizes=(10, 200, 1_000)),
            Growing(name=RECORD, sizes=(1_000, 100_000, 10_000_000)),
        ),
        repeats=7,
        background_s=7.0,
    )


def small() -> GrowthPlan:
    """Sizes at which a statement that reads everything is already seen to. Takes less than a minute."""
    return GrowthPlan(
        growing=(
            Growing(name=TURNS, sizes=(1_000, 20_000)),
            Growing(name=CONVERSATION, sizes=(100, 4_000)),
            Growing(name=PEOPLE, sizes=(100, 4_000)),
            Growing(name=WAITING, sizes=(100, 3_000)),
            Growing(name=FLAGS, sizes=(10, 300, 500)),
            Growing(name=RECORD, sizes=(1_000, 40_000)),
        ),
        repeats=3,
        background_s=3.5,
    )


def limit(plan: GrowthPlan, *, rows: int | None = None, only: Sequence[str] = ()) -> GrowthPlan:
    """The plan with no size above `rows`, and of what grows only what `only` names. Raises PlanOutOfBounds."""
    if rows is not None and not 1_000 <= rows <= MOST_ROWS:
        raise PlanOutOfBounds(f"--rows must be from 1,000 to {MOST_ROWS:,}; it is {rows:,}.")
    if unknown := set(only) - set(TITLES):
        raise PlanOutOfBounds(f"--only knows {', '.join(TITLES)}; not {', '.join(sorted(unknown))}.")
    chosen = [one for one in plan.growing if not only or one.name in only]
    if rows is not None:
        chosen = [
            replace(one, sizes=tuple(dict.fromkeys(min(size, rows) for size in one.sizes))) for one in chosen
        ]
    return replace(plan, growing=tuple(chosen))


def check_churn(turns: int) -> int:
    """The number of turns to play. Raises PlanOutOfBounds."""
    if not 1_000 <= turns <= MOST_ROWS:
        raise PlanOutOfBounds(f"--churn must be from 1,000 to {MOST_ROWS:,}; it is {turns:,}.")
    return turns
