"""Writes the history of a run: events as they happen, then what providers logged and what was stored."""

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ops.ordeal.history import HistoryEvent

FLUSH_EVERY_EVENTS = 50


class Recorder:
    """Appends to one file. Times are seconds since the start, on the clock that all processes of this machine share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._started: float | None = None
        self._started_wall = datetime.now(UTC)
        self._file = path.open("w", encoding="utf-8")
        self.count = 0

    def start_clock(self) -> None:
        """The run begins now. What was written before happened at 0."""
        self._started, self._started_wall = time.perf_counter(), datetime.now(UTC)

    def now(self) -> float:
        return self.since_start(time.perf_counter())

    def since_start(self, moment: float) -> float:
        """A moment of the monotonic clock in seconds since the start."""
        return 0.0 if self._started is None else moment - self._started

    def since_start_of(self, moment: datetime) -> float:
        """A stored time in seconds since the start."""
        return round((moment - self._started_wall).total_seconds(), 6)

    def write(self, who: str, what: str, *, at: float | None = None, **data: Any) -> None:
        """One event, now unless `at` says otherwise."""
        event = HistoryEvent(at=self.now() if at is None else at, who=who, what=what, data=data)
        self._file.write(event.to_line() + "\n")
        self.count += 1
        if self.count % FLUSH_EVERY_EVENTS == 0:
            self._file.flush()

    def write_provider_log(self, lane: str, path: Path, *, prefix: str, ended_at: float) -> None:
        """Take over the log of one provider process. `prefix` makes its calls unique in the run.

        Calls that were open when the process ended, at `ended_at`, broke then.
        """
        who, under_way = f"provider:{lane}", set()
        for logged in _read_log(path):
            at = self.since_start(logged.pop("at"))
            what, call = logged.pop("what"), f"{prefix}{logged.pop('call')}"
            if what == "asked":
                under_way.add(call)
            elif what != "piece":
                under_way.discard(call)
            self.write(who, what, at=at, call=call, **logged)
        for call in sorted(under_way):
            self.write(who, "broke", at=ended_at, call=call, kind="ended")

    def write_rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """The stored rows of one table. Their times become seconds since the start."""
        self.write("record", "stored", table=table, rows=[self._convert(row) for row in rows])

    def close(self) -> None:
        self._file.close()

    def _convert(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._plain(value) for name, value in row.items()}

    def _plain(self, value: Any) -> Any:
        match value:
            case datetime():
                return self.since_start_of(value)
            case None | bool() | int() | float() | str():
                return value
            case Mapping():
                return self._convert(value)
            case Sequence():
                return [self._plain(one) for one in value]
            case _:
                return str(value)


def _read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log; none without a file, and not the half line of a process that was killed."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)
