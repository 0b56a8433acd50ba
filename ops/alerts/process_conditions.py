"""What a process finds wrong with its own configuration: sent with each heartbeat, and raised while it lasts.

A process reads its configuration files once, at the start. An invalid file on disk would stop the next start, so the
files are checked all the time.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ops.alerts.kinds import AlertKind
from personas.schema import Persona
from routing.contracts import Lane
from routing.lanes import NORMAL, Routing

log = logging.getLogger(__name__)

CHECK_INTERVAL_S = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedFile:
    """A configuration file. `version` is the one that this process serves; `read` gives the one on disk."""

    name: str
    path: Path
    version: str
    read: Callable[[Path], str]
    refusal: type[Exception]
    """Raised by `read` for a file that a process would refuse."""


class ConditionMonitor:
    """Checks the files every few seconds. `current` holds `KIND ABOUT` for each condition that is true now."""

    def __init__(
        self,
        routing: Routing,
        files: Sequence[WatchedFile],
        *,
        is_rehearsed: bool,
        needs: Callable[[Lane], int] = lambda lane: 0,
        persona: Callable[[], Iterable[str]] = tuple,
        every_s: float = CHECK_INTERVAL_S,
    ) -> None:
        fixed = check_routing(routing, is_rehearsed=is_rehearsed)
        self._fixed = (*fixed, *check_windows(routing, needs=needs))
        self._persona = persona
        self._files = files
        self._every_s = every_s
        self._stamps: dict[str, tuple[int, int]] = {}
        self._file_conditions: dict[str, tuple[str, ...]] = {}
        self.current = (*self._fixed, *persona())

    async def run(self) -> None:
        """Check until cancelled."""
        for condition in self._fixed:
            log.warning("conditions.at_start kind=%s about=%s", *condition.split(" ", 1))
        while True:
            await asyncio.to_thread(self.check)
            await asyncio.sleep(self._every_s)

    def check(self) -> None:
        """Check once. Reads a file only if its size or time of change has changed."""
        for file in self._files:
            stamp = _stat(file.path)
            if self._stamps.get(file.name) != stamp:
                self._file_conditions[file.name] = tuple(check_file(file))
                self._stamps[file.name] = stamp
        self.current = (
            *self._fixed,
            *self._persona(),
            *(condition for conditions in self._file_conditions.values() for condition in conditions),
        )


def check_routing(routing: Routing, *, is_rehearsed: bool) -> Iterator[str]:
    """Conditions of the routing file. `is_rehearsed`: operators have declared that scripted replies are meant."""
    if routing.is_rehearsed:
        if not is_rehearsed:
            yield f"{AlertKind.SCRIPTED_REPLIES} no routing file is set"
    elif weakness := routing.weakness(NORMAL):
        yield f"{AlertKind.NO_FALLBACK} {weakness}"


def check_windows(routing: Routing, *, needs: Callable[[Lane], int]) -> Iterator[str]:
    """Lanes whose window the character's text alone fills. `needs`: the least window of a lane, in tokens."""
    for name, lane in routing.lanes.items():
        if lane.context_tokens < (least := needs(lane)):
            yield f"{AlertKind.WINDOW_TOO_SMALL} {name} ({lane.context_tokens} of at least {least} tokens)"


def check_persona(persona: Persona, today: date) -> Iterator[str]:
    """Conditions of the review of the character's lines, on this day."""
    if persona.approved_on is None:
        yield f"{AlertKind.PERSONA_UNAPPROVED} {persona.name}, {persona.version}"
    if persona.review_by < today:
        yield f"{AlertKind.PERSONA_OVERDUE} due on {persona.review_by}"


def check_personas(languages: Mapping[str, Persona], today: date) -> Iterator[str]:
    """The same for the character in every language: one condition of a kind, about the first file that has it."""
    seen: set[str] = set()
    for persona in languages.values():
        for condition in check_persona(persona, today):
            kind = condition.partition(" ")[0]
            if kind not in seen:
                seen.add(kind)
                yield condition


def check_file(file: WatchedFile) -> Iterator[str]:
    """Conditions of the file on disk."""
    try:
        version = file.read(file.path)
    except file.refusal:
        yield f"{AlertKind.FILE_REFUSED} {file.name}"
    else:
        if version != file.version:
            yield f"{AlertKind.FILE_CHANGED} {file.name}"


def _stat(path: Path) -> tuple[int, int]:
    try:
        facts = path.stat()
    except OSError:
        return (-1, -1)
    return (facts.st_mtime_ns, facts.st_size)
