"""Log lines that hold ids, counts and codes, and nothing that anyone wrote.

An exception's own text may quote a message, a statement or a card's link, so of an exception only its class and
the places it passed through are written; and of a request that failed, not its path.
"""

import logging
import threading
import time
import traceback
from collections.abc import Callable
from types import TracebackType

log = logging.getLogger(__name__)

_PATHS_IN_MESSAGE = ("django.request", "django.security")

_TEXTS_OF_OTHERS = ("asyncio", "psycopg.pool")
"""Loggers that write exceptions into their messages: what was said to a task, the host of a database."""

_CAUSED_BY_CLIENTS = (
    "companion.consumers",
    "companion.guarded_consumer",
    "companion.sockets",
    "companion.throttle",
    "companion.views",
    "daphne",
    "django.request",
    "django.security",
    "ops.access",
    "ops.project.bounded_socket",
    "ops.project.callers",
    "ops.staff",
)
"""Loggers that a single client can make write as often as it likes."""

REPEATED_WITHIN_S = 60.0

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class RepeatedOnce(logging.Filter):
    """Lets what clients cause through once a minute for each place in the code, and counts the rest.

    The count stands at the end of the next such line, or in a line of its own (`report`). `now` is monotonic.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._lock = threading.Lock()
        self._since: dict[tuple[object, ...], float] = {}
        self._left_out: dict[tuple[object, ...], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """False if one from the same place has been written within the last minute."""
        if not record.name.startswith(_CAUSED_BY_CLIENTS) or record.levelno >= logging.CRITICAL:
            return True
        place, now = _place(record), self._now()
        with self._lock:
            since = self._since.get(place)
            if since is not None and now - since < REPEATED_WITHIN_S:
                self._left_out[place] = self._left_out.get(place, 0) + 1
                return False
            self._since[place] = now
            left_out = self._left_out.pop(place, 0)
        if left_out:
            log.warning("log.repeated logger=%s line=%d times=%d", record.name, record.lineno, left_out)
        return True

    def report(self) -> None:
        """Write how often each line was left out."""
        with self._lock:
            left_out, self._left_out = self._left_out, {}
        for (name, _, line, *_), times in left_out.items():
            log.warning("log.repeated logger=%s line=%d times=%d", name, line, times)


def report_repeated() -> None:
    """Write what the handlers of this process have left out."""
    for handler in logging.getLogger().handlers:
        for one in handler.filters:
            if isinstance(one, RepeatedOnce):
                one.report()


def _place(record: logging.LogRecord) -> tuple[object, ...]:
    """Where the record was written and, of an exception, its class and where it was raised."""
    raised: tuple[object, ...] = ()
    if record.exc_info and record.exc_info[0] is not None:
        frames = traceback.extract_tb(record.exc_info[2])
        raised = (record.exc_info[0], *((frames[-1].filename, frames[-1].lineno) if frames else ()))
    return (record.name, record.pathname, record.lineno, *raised)


class DiscreetFormatter(logging.Formatter):
    """Formats a record without the text of exceptions and without request paths."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the places of an exception below it."""
        return super().format(self.make_discreet(record))

    def make_discreet(self, record: logging.LogRecord) -> logging.LogRecord:
        """The record without texts of exceptions and paths of requests."""
        if record.name.startswith(_PATHS_IN_MESSAGE):
            record = logging.makeLogRecord(record.__dict__ | {"msg": "request.failed", "args": ()})
        elif record.name.startswith(_TEXTS_OF_OTHERS) or _quotes_its_exception(record):
            record = logging.makeLogRecord(record.__dict__ | {"msg": _without_texts(record), "args": ()})
        record.exc_text = None
        return record

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
