"""Has the database server log the plan of every statement for a while, and reads what it logged.

So the statements are those that the product sends, as they were planned where they ran, with the rows that they read.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from ops.growth.figures import LoggedPlan
from ops.growth.plans import parse_plan

OURS = "growth"
"""The program name of the connections of the measurement itself, whose plans are left out."""
MARK = "growth: not measured"
"""A comment in statements that prepare what is measured, on connections of the product."""
PREFIX = "@plan@"
SERVER_SETTINGS = {
    "shared_preload_libraries": "auto_explain",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    # The clock of each plan node costs more than what it measures.
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_parameter_max_length": "0",
    "log_line_prefix": f"{PREFIX}%a{PREFIX}",
}
SWITCH_LIMIT_S = 5.0


class PlanLog:
    """The log file of one database server that was started with SERVER_SETTINGS. Blocks."""

    def __init__(self, url: str, path: Path) -> None:
        self._connection = psycopg.connect(url, autocommit=True, application_name=OURS)
        self._path = path

    @contextmanager
    def recording(self) -> Iterator[list[LoggedPlan]]:
        """Log while it is entered. The list is filled at the end, in the order of the log."""
        logged: list[LoggedPlan] = []
        self._switch("0")
        start = self._path.stat().st_size
        try:
            yield logged
        finally:
            self._switch("-1")
        with self._path.open(encoding="utf-8", errors="replace") as file:
            file.seek(start)
            logged.extend(_parse(file.read()))

    def close(self) -> None:
        self._connection.close()

    def _switch(self, value: str) -> None:
        self._connection.execute(f"ALTER SYSTEM SET auto_explain.log_min_duration = {value}")
        self._connection.execute("SELECT pg_reload_conf()")
        wanted, until = ("0" if value == "0" else "-1"), time.monotonic() + SWITCH_LIMIT_S
        while time.monotonic() < until:
            [(now,)] = self._connection.execute("SHOW auto_explain.log_min_duration").fetchall()
            if now == wanted:
                return
            time.sleep(0.01)
        raise TimeoutError("The database server did not take over its settings.")


def _parse(text: str) -> Iterator[LoggedPlan]:
    # Each entry begins with PREFIX, the program's name and PREFIX again.
    _, *parts = text.split(PREFIX)
    for program, entry in zip(parts[::2], parts[1::2], strict=False):
        _, found, document = entry.partition("plan:\n")
        if not found or program == OURS or MARK in document:
            continue
        yield LoggedPlan(program=program, plan=parse_plan(json.loads(document)))
