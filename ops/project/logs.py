"""Log lines that hold ids, counts and codes, and nothing that anyone wrote.

An exception's own text may quote a message, a statement or a card's link, so of an exception only its class and
the places it passed through are written; and of a request that failed, not its path.
"""

import logging
import traceback
from types import TracebackType

_PATHS_IN_MESSAGE = ("django.request", "django.security")

_TEXTS_OF_OTHERS = ("asyncio", "psycopg.pool")
"""Loggers that write exceptions into their messages: what was said to a task, the host of a database."""

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class DiscreetFormatter(logging.Formatter):
    """Formats a record without the text of exceptions and without request paths."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the places of an exception below it."""
        if record.name.startswith(_PATHS_IN_MESSAGE):
            record = logging.makeLogRecord(record.__dict__ | {"msg": "request.failed", "args": ()})
        elif record.name.startswith(_TEXTS_OF_OTHERS) or _quotes_its_exception(record):
            record = logging.makeLogRecord(record.__dict__ | {"msg": _without_texts(record), "args": ()})
        record.exc_text = None
        return super().format(record)

    def formatException(self, ei: ExcInfo) -> str:
        """Class and places, innermost last."""
        kind, _, trace = ei
        places = traceback.extract_tb(trace)
        lines = [f"  {place.filename}:{place.lineno} {place.name}" for place in places[-6:]]
        return "\n".join([f"  {kind.__name__ if kind else 'no exception'}", *lines])


def _quotes_its_exception(record: logging.LogRecord) -> bool:
    said = str(record.exc_info[1]) if record.exc_info and record.exc_info[1] is not None else ""
    return bool(said) and said in record.getMessage()


def _without_texts(record: logging.LogRecord) -> str:
    """The message without what is written after its first colon or line, and the classes of the exceptions in it."""
    first = record.getMessage().split("\n", 1)[0].split(":", 1)[0]
    args = record.args if isinstance(record.args, tuple) else ()
    kinds = [type(one).__name__ for one in args if isinstance(one, BaseException)]
    return " ".join([first, *(f"cause={kind}" for kind in kinds)])
