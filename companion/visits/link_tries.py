"""Where a card's link was tried with wrong pictures, and whether it may be tried there again (A1). PURE: no Django.

A stranger with a link from a browser's history has few tries, and uses up none of those of its holder: each machine
and each network on which the card has opened a visit has a count of its own. All other machines share one, and so do
all other networks: however many of them a stranger has, it is a few tries among 132 choices in three months.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

MAX_MISSES = 3
"""Wrong choices of pictures after which the link opens nothing at one place, until the code is typed."""
MAX_MISSES_ON_NEW_PLACES = 6
"""The same for all machines together on which the card has not opened a visit, and for all such networks."""
MISS_WINDOW_S = 7 * 86_400
NEW_PLACE_MISS_WINDOW_S = 90 * 86_400
"""Counted from the last miss. A right choice does not reset a count: it would give a stranger new ones each day."""
KNOWN_S = 30 * 86_400
"""How long a place counts as one on which the card has opened a visit."""
NOTED_AGAIN_S = 86_400
"""An opening at a place is noted at most this often."""
MAX_PLACES = 60
"""Places that are kept for one card."""


class PlaceRecord(TypedDict):
    """What is stored of one place. Times are seconds of the epoch; 0: never."""

    machine: bool
    misses: int
    missed: int
    opened: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkPlace:
    """Where a link is tried: `key` is the id of a machine, or the keyed hash of a network."""

    key: str
    is_machine: bool


class LinkTries:
    """The places of one card at a time in seconds of the epoch. What is too old is left out of them."""

    def __init__(self, stored: Mapping[str, PlaceRecord], *, now_s: int) -> None:
        self._now_s = now_s
        self._places: dict[str, PlaceRecord] = {}
        for key, record in stored.items():
            opened = record["opened"] if now_s - record["opened"] < KNOWN_S else 0
            window_s = MISS_WINDOW_S if opened else NEW_PLACE_MISS_WINDOW_S
            misses = record["misses"] if now_s - record["missed"] < window_s else 0
            if misses or opened:
                self._places[key] = {**record, "misses": misses, "opened": opened}

    def may_try(self, place: LinkPlace) -> bool:
        """Whether pictures may be tried once more at this place."""
        here = self._places.get(place.key)
        if here is not None and here["misses"] >= MAX_MISSES:
            return False
        if here is not None and here["opened"]:
            return True
        alike = (record for record in self._places.values() if record["machine"] == place.is_machine)
        return sum(record["misses"] for record in alike if not record["opened"]) < MAX_MISSES_ON_NEW_PLACES

    def add_miss(self, place: LinkPlace) -> None:
        """Count a wrong choice of pictures."""
        here = self._take(place)
        here["misses"] += 1
        here["missed"] = self._now_s

    def add_opening(self, place: LinkPlace) -> bool:
        """Note that the card has opened a visit here. False: that is noted already."""
        here = self._take(place)
        if abs(self._now_s - here["opened"]) < NOTED_AGAIN_S:
            return False
        here["opened"] = self._now_s
        return True

    def forget_misses(self, place: LinkPlace) -> bool:
        """Begin the count of this place anew, and of no other. False: it has none.

        A holder who types the code each day must not give strangers elsewhere new tries each day.
        """
        here = self._take(place)
        had_some, here["misses"] = here["misses"] > 0, 0
        return had_some

    def to_stored(self) -> dict[str, PlaceRecord]:
        """What to store: the places with misses, and the newest of the others."""
        ordered = sorted(self._places.items(), key=lambda item: (-item[1]["misses"], -item[1]["opened"]))
        return dict(ordered[:MAX_PLACES])

    def _take(self, place: LinkPlace) -> PlaceRecord:
        record = PlaceRecord(machine=place.is_machine, misses=0, missed=0, opened=0)
        return self._places.setdefault(place.key, record)
