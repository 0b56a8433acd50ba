"""A log line never holds what somebody wrote, even when an exception quotes it."""

import asyncio
import gc
import logging
import sys

from ops.project.logs import DiscreetFormatter

SECRET = "what Rosa wrote"


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


async def test_a_task_that_nobody_asked_after_is_logged_without_what_it_failed_with() -> None:
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
