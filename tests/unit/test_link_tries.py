"""The tries of a card's link are those of a machine or a network, and never those of the person (A1)."""

from collections.abc import Callable

import pytest

from companion.visits.link_tries import (
    KNOWN_S,
    MAX_MISSES,
    MAX_MISSES_ON_NEW_PLACES,
    MAX_PLACES,
    MISS_WINDOW_S,
    NEW_PLACE_MISS_WINDOW_S,
    LinkPlace,
    LinkTries,
    PlaceRecord,
)

NOW_S = 1_800_000_000
Stored = dict[str, PlaceRecord]


def network(name: str) -> LinkPlace:
    return LinkPlace(key=name, is_machine=False)


def machine(name: str) -> LinkPlace:
    return LinkPlace(key=name, is_machine=True)


def read(stored: Stored, later_s: int = 0) -> LinkTries:
    return LinkTries(stored, now_s=NOW_S + later_s)


def miss(stored: Stored, *places: LinkPlace, later_s: int = 0) -> Stored:
    for place in places:
        tries = read(stored, later_s)
        tries.add_miss(place)
        stored = tries.to_stored()
    return stored


def open_at(stored: Stored, place: LinkPlace, later_s: int = 0) -> Stored:
    tries = read(stored, later_s)
    tries.add_opening(place)
    return tries.to_stored()


def test_a_place_of_the_holder_has_three_tries_in_a_week_counted_from_the_last() -> None:
    here = network("home")
    two = miss(open_at({}, here), here, here)
    three = miss(two, here, later_s=100)

    assert read(two).may_try(here)
    assert not read(three, 100).may_try(here)
    assert not read(three, 99 + MISS_WINDOW_S).may_try(here)
    assert read(three, 100 + MISS_WINDOW_S).may_try(here)


def test_a_right_choice_brings_no_new_tries() -> None:
    here = network("home")
    stored = open_at(miss({}, here, here), here)

    assert not read(miss(stored, here)).may_try(here)


@pytest.mark.parametrize("kind", [network, machine])
def test_misses_elsewhere_take_nothing_from_places_that_the_card_has_opened_on(
    kind: Callable[[str], LinkPlace],
) -> None:
    home, room = network("home"), machine("room")
    tried = [kind(f"elsewhere {number}") for number in range(MAX_MISSES_ON_NEW_PLACES)]
    stored = miss(open_at(open_at({}, home), room), *tried, *[machine("desk")] * MAX_MISSES)

    assert read(stored).may_try(home) and read(stored).may_try(room)
    assert not read(stored).may_try(kind("new")) and not read(stored).may_try(machine("desk"))


@pytest.mark.parametrize("kind", [network, machine])
def test_a_stranger_who_changes_places_has_few_tries_in_three_months_and_leaves_few_rows(
    kind: Callable[[str], LinkPlace],
) -> None:
    """The holder types the code elsewhere each day, which begins no count of the stranger's anew."""
    stored: Stored = {}
    tried = 0
    home = network("home")
    for day in range(NEW_PLACE_MISS_WINDOW_S // 86_400):
        for number in range(30):
            place = kind(f"{day} {number}")
            if read(stored, day * 86_400).may_try(place):
                tried += 1
                stored = miss(stored, place, later_s=day * 86_400)
        tries = read(stored, day * 86_400)
        tries.forget_misses(home)
        tries.add_opening(home)
        stored = tries.to_stored()

    assert tried == MAX_MISSES_ON_NEW_PLACES
    assert len(stored) == MAX_MISSES_ON_NEW_PLACES + 1


def test_a_network_on_which_no_visit_was_opened_for_a_month_is_new_again() -> None:
    home = network("home")
    stored = miss(open_at({}, home), *map(network, "abcdef"), later_s=KNOWN_S - 100)

    assert read(stored, KNOWN_S - 1).may_try(home)
    assert not read(stored, KNOWN_S).may_try(home)


def test_a_typed_code_begins_the_count_of_its_place_anew_and_no_other() -> None:
    stored = miss({}, *[network("a")] * 3, *[machine("desk")] * 3)
    tries = read(stored)

    assert tries.forget_misses(network("a")) and not tries.forget_misses(network("a"))
    assert tries.may_try(network("a")) and not tries.may_try(machine("desk"))


def test_a_typed_code_lets_the_link_open_where_strangers_have_used_up_the_tries_of_new_places() -> None:
    stored = miss({}, *[network(str(number)) for number in range(MAX_MISSES_ON_NEW_PLACES)])
    here = network("5")
    assert not read(stored).may_try(here)

    tries = read(stored)
    tries.forget_misses(here)
    tries.add_opening(here)
    assert read(tries.to_stored()).may_try(here)


def test_what_is_kept_of_a_card_is_bounded_and_counts_are_kept_before_openings() -> None:
    stored = miss({}, machine("desk"))
    for number in range(MAX_PLACES + 20):
        stored = open_at(stored, network(str(number)), later_s=number)

    assert len(stored) == MAX_PLACES
    assert stored["desk"]["misses"] == 1 and str(MAX_PLACES + 19) in stored and "0" not in stored


def test_an_opening_is_noted_once_a_day_and_with_a_clock_that_was_set_back() -> None:
    tries = read(open_at({}, network("home")))
    assert not tries.add_opening(network("home"))
    assert not read(tries.to_stored(), 80_000).add_opening(network("home"))
    assert read(tries.to_stored(), 90_000).add_opening(network("home"))
    assert read(tries.to_stored(), -90_000).add_opening(network("home"))
