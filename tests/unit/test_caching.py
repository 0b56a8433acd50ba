"""A value that many ask for is asked for once a second."""

import threading
from collections.abc import Iterator

import pytest

from ops.status.caching import BackgroundValue, CachedValue


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def counted() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


def test_within_its_time_everybody_is_given_the_same() -> None:
    clock, numbers = Clock(), counted()
    fresh = CachedValue(lambda: next(numbers), for_s=1.0, now=clock)

    assert [fresh(), fresh(), fresh()] == [1, 1, 1]
    clock.now += 0.999
    assert fresh() == 1
    clock.now += 0.001
    assert fresh() == 2


def test_many_who_ask_at_once_cost_one_call() -> None:
    started, go_on = threading.Event(), threading.Event()
    calls: list[int] = []

    def read() -> int:
        calls.append(1)
        started.set()
        go_on.wait(5)
        return len(calls)

    fresh = CachedValue(read, for_s=1.0, now=lambda: 0.0)
    given: list[int] = []
    threads = [threading.Thread(target=lambda: given.append(fresh())) for _ in range(6)]
    for thread in threads:
        thread.start()
    started.wait(5)
    go_on.set()
    for thread in threads:
        thread.join()

    assert (given, len(calls)) == ([1] * 6, 1)


def test_a_call_that_went_wrong_is_not_kept() -> None:
    answers: Iterator[Exception | str] = iter([ValueError("away"), "back"])

    def read() -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    fresh = CachedValue(read, for_s=60.0, now=lambda: 0.0)

    with pytest.raises(ValueError, match="away"):
        fresh()
    assert fresh() == "back"


def test_a_caller_that_may_not_wait_gets_the_old_value_and_the_next_caller_the_new_one() -> None:
    clock, numbers = Clock(), counted()
    lately = BackgroundValue(lambda: next(numbers), first=0, for_s=2.0, now=clock)

    assert lately() == 0
    lately.settle()
    assert [lately(), lately()] == [1, 1]
    clock.now += 2.0
    assert lately() == 1
    lately.settle()
    assert lately() == 2


def test_it_is_read_once_however_many_ask_while_it_is_read() -> None:
    clock, let_go, numbers = Clock(), threading.Event(), counted()

    def slow() -> int:
        let_go.wait(5)
        return next(numbers)

    lately = BackgroundValue(slow, first=0, for_s=1.0, now=clock)
    for _ in range(5):
        clock.now += 1.0
        assert lately() == 0
    let_go.set()
    lately.settle()
    assert next(numbers) == 2


def test_a_read_that_fails_leaves_what_was_known() -> None:
    clock = Clock()

    def broken() -> int:
        raise ConnectionError

    lately = BackgroundValue(broken, first=7, for_s=1.0, now=clock)
    assert lately() == 7
    lately.settle()
    assert lately() == 7
