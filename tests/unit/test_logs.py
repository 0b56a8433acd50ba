"""A log line never holds what somebody wrote, even when an exception quotes it."""

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


def test_an_ordinary_line_is_left_as_it_is() -> None:
    record = logging.LogRecord("companion.runner", logging.INFO, "here", 1, "turns=%d", (3,), None)
    assert DiscreetFormatter("%(name)s %(message)s").format(record) == "companion.runner turns=3"
