"""The lists of turns hold what their names say, page by page, of the sites that a reader sees."""

import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from companion.models import Process, Turn
from companion.states import Settlement
from ops.transcripts.queries import list_turns
from ops.transcripts.records import TurnList
from tests.people import People, Person, in_database
from tests.personal_data import add_turn

PAGE = 3
LATER, EARLIER = timezone.now() + timedelta(hours=1), timezone.now() - timedelta(hours=1)
KINDS: tuple[dict[str, Any], ...] = (
    {"state": "complete"},
    {"state": "paused", "held_until": LATER},
    {"state": "paused", "held_until": EARLIER},
    {"state": "paused", "held_until": EARLIER, "settled": Settlement.LET_GO.value},
    {"state": "refused"},
    {"state": "stopped"},
    {"state": "waiting", "closed_at": None},
)


def is_unanswered(turn: Turn) -> bool:
    return turn.state == "paused" and turn.settled == "" and turn.held_until is not None


BELONGS: dict[TurnList, Callable[[Turn], bool]] = {
    TurnList.NOW: lambda turn: turn.state in ("waiting", "speaking"),
    TurnList.ANSWERED: lambda turn: turn.state == "complete",
    TurnList.PAUSED: lambda turn: turn.state == "paused",
    TurnList.HELD: lambda turn: is_unanswered(turn) and turn.held_until > timezone.now(),  # type: ignore[operator]
    TurnList.EXPIRED: lambda turn: is_unanswered(turn) and turn.held_until <= timezone.now(),  # type: ignore[operator]
    TurnList.REFUSED: lambda turn: turn.state == "refused",
    TurnList.STOPPED: lambda turn: turn.state == "stopped",
}
OLDEST_FIRST = {TurnList.NOW, TurnList.HELD}


@pytest.fixture
def owner() -> Iterator[uuid.UUID]:
    """A process that lives and drains: its turns are neither admitted nor swept."""
    process = uuid.uuid4()
    beat = {"host": "test", "pid": 1, "draining": True, "beat_at": LATER}
    in_database(lambda: Process.objects.create(id=process, **beat))
    yield process
    ended = {"state": "stopped", "closed_at": timezone.now()}
    in_database(lambda: Turn.objects.filter(owner=process, closed_at=None).update(**ended))
    in_database(lambda: Process.objects.filter(id=process).delete())


def fill(person: Person, *, owner: uuid.UUID, rounds: int) -> None:
    for _ in range(rounds):
        for kind in KINDS:
            add_turn(person, "?", owner=owner, **kind)


def read_pages(name: TurnList, **asked: Any) -> list[int]:
    """The ids of a whole list, page after page."""
    found: list[int] = []
    after = None
    while True:
        page = in_database(partial(list_turns, name, after=after, size=PAGE, **asked))
        found += [entry.id for entry in page.entries]
        if page.further is None:
            return found
        assert len(page.entries) == PAGE
        after = page.further


@pytest.mark.parametrize("name", list(TurnList))
@pytest.mark.parametrize("everywhere", [False, True], ids=["of a site", "of all sites"])
def test_each_list_has_its_turns_in_order_on_as_many_pages_as_it_takes(
    people: People, owner: uuid.UUID, name: TurnList, everywhere: bool
) -> None:
    # One has more of each kind than a page holds, so that not every page is of the same people.
    writers = [people.rosa, people.rosa, people.otto]
    for person, rounds in zip(writers, (4, 1, 2), strict=True):
        fill(person, owner=owner, rounds=rounds)
    seen = writers if everywhere else writers[:2]
    expected = [turn.pk for person in seen for turn in person.turns() if BELONGS[name](turn)]

    found = read_pages(name, sites=[people.site.pk], everywhere=everywhere)

    ours = {turn.pk for person in writers for turn in person.turns()}
    assert [turn for turn in found if turn in ours] == sorted(expected, reverse=name not in OLDEST_FIRST)
    assert len(found) == len(set(found))
    assert everywhere or set(found) <= ours
