"""A log line never holds what a person wrote, even when an exception quotes it."""

import asyncio
import gc
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ops.project.logs import DiscreetFormatter, RepeatedOnce

SECRET = "what Rosa wrote"


@contextmanager
def heard(logger: str) -> Iterator[list[logging.LogRecord]]:
    """What this logger is told meanwhile."""
    told = list[logging.LogRecord]()
    handler = logging.Handler()
    handler.emit = told.append  # type: ignore[assignment,method-assign]
    logging.getLogger(logger).addHandler(handler)
    try:
        yield told
    finally:
        logging.getLogger(logger).removeHandler(handler)


def failing() -> logging.LogRecord:
    try:
        raise ValueError(SECRET)
    except ValueError as failure:
        return logging.LogRecord(
            "daphne.server",
            logging.ERROR,
            "here",
            1,
            "Exception inside application: %s",
            (failure,),
            sys.exc_info(),
        )


def test_an_exceptions_text_is_left_out_and_its_class_and_place_are_kept() -> None:
    line = DiscreetFormatter("%(name)s %(message)s").format(failing())
    assert SECRET not in line
    assert "ValueError" in line
    assert "test_logs.py" in line


def test_a_failed_request_is_logged_without_its_path() -> None:
    record = logging.LogRecord(
        "django.request", logging.ERROR, "here", 1, "Internal Server Error: %s", ("/card/secret-card/",), None
    )
    line = DiscreetFormatter("%(message)s").format(record)
    assert line == "request.failed"


async def test_a_task_that_is_never_awaited_is_logged_without_what_it_failed_with() -> None:
    async def fails() -> None:
        raise RuntimeError(SECRET)

    loop, told = asyncio.get_running_loop(), list[logging.LogRecord]()
    heard = logging.Handler()
    heard.emit = told.append  # type: ignore[assignment,method-assign]
    logging.getLogger("asyncio").addHandler(heard)
    try:
        task = loop.create_task(fails())
        await asyncio.wait([task])
        del task
        gc.collect()
    finally:
        logging.getLogger("asyncio").removeHandler(heard)
    [record] = told
    assert SECRET in record.getMessage()
    line = DiscreetFormatter("%(message)s").format(record)
    assert SECRET not in line
    assert line.startswith("Task exception was never retrieved\n  RuntimeError")


def test_a_database_that_cannot_be_reached_is_logged_without_its_address() -> None:
    cause = OSError("connection to server at db.example.org failed: what the server said")
    record = logging.LogRecord(
        "psycopg.pool", logging.WARNING, "here", 1, "error connecting in %r: %s", ("companion", cause), None
    )
    line = DiscreetFormatter("%(message)s").format(record)
    assert line == "error connecting in 'companion' cause=OSError"


def test_an_ordinary_line_is_left_as_it_is() -> None:
    record = logging.LogRecord("companion.runner", logging.INFO, "here", 1, "turns=%d", (3,), None)
    assert DiscreetFormatter("%(name)s %(message)s").format(record) == "companion.runner turns=3"


def test_what_a_client_causes_again_and_again_is_written_once_a_minute_and_counted() -> None:
    clock = [1_000.0]
    once = RepeatedOnce(lambda: clock[0])
    caused = logging.LogRecord(
        "companion.sockets", logging.WARNING, "here", 7, "socket.unknown_path", (), None
    )
    assert [once.filter(caused) for _ in range(4)] == [True, False, False, False]
    clock[0] += 60
    with heard("ops.project.logs") as told:
        assert once.filter(caused)
        assert not once.filter(caused)
        once.report()
        once.report()
    assert [record.getMessage() for record in told] == [
        "log.repeated logger=companion.sockets line=7 times=3",
        "log.repeated logger=companion.sockets line=7 times=1",
    ]


def test_two_faults_at_one_place_in_the_code_are_two_lines() -> None:
    once = RepeatedOnce(lambda: 0.0)
    first, second = failing(), failing()
    second.exc_info = (KeyError, KeyError("other"), None)
    for record in (first, second):
        record.name = "django.request"
    assert [once.filter(record) for record in (first, second, first)] == [True, True, False]


def test_what_we_do_ourselves_is_written_each_time() -> None:
    once = RepeatedOnce(lambda: 0.0)
    record = logging.LogRecord("companion.runner", logging.WARNING, "here", 1, "turn.paused", (), None)
    assert all(once.filter(record) for _ in range(5))
