"""What a process knows to be wrong with its own set-up: sent with each heartbeat, and told to operators while it lasts.

A configuration file is read once, at the start. If it changes afterwards nothing happens until a process has to start
anew; by then it is too late to learn that it would refuse the file, so the file on disk is looked at all the time.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ops.alerts.kinds import Kind
from personas.schema import Persona
from routing.contracts import Lane
from routing.lanes import NORMAL, Routing

log = logging.getLogger(__name__)

EVERY_S = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedFile:
    """A configuration file. `version` is that of the content this process has read, `read` gives that on disk."""

    name: str
    path: Path
    version: str
    read: Callable[[Path], str]
    refusal: type[Exception]
    """What `read` raises if a process would refuse the file."""


class Conditions:
    """Looks at the files every few seconds. `current` holds `KIND ABOUT` for each thing that is wrong now."""

    def __init__(
        self,
        routing: Routing,
        files: Sequence[WatchedFile],
        *,
        is_rehearsed: bool,
        needs: Callable[[Lane], int] = lambda lane: 0,
        persona: Callable[[], Iterable[str]] = tuple,
        every_s: float = EVERY_S,
    ) -> None:
        fixed = of_routing(routing, is_rehearsed=is_rehearsed)
        self._fixed = (*fixed, *of_windows(routing, needs=needs))
        self._persona = persona
        self._files = files
        self._every_s = every_s
        self._seen: dict[str, tuple[int, int]] = {}
        self._found: dict[str, tuple[str, ...]] = {}
        self.current = (*self._fixed, *persona())

    async def run(self) -> None:
        """Look until cancelled."""
        for condition in self._fixed:
            log.warning("conditions.at_start kind=%s about=%s", *condition.split(" ", 1))
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(self._every_s)

    def look(self) -> None:
        """Look once. Reads a file only if its size or time of change is another than before."""
        for file in self._files:
            looks = _looks(file.path)
            if self._seen.get(file.name) != looks:
                self._found[file.name] = tuple(of_file(file))
                self._seen[file.name] = looks
        self.current = (
            *self._fixed,
            *self._persona(),
            *(one for found in self._found.values() for one in found),
        )


def of_routing(routing: Routing, *, is_rehearsed: bool) -> Iterator[str]:
    """What is wrong with the lanes themselves. `is_rehearsed`: operators have said that scripted replies are meant."""
    if routing.is_rehearsed:
        if not is_rehearsed:
            yield f"{Kind.SCRIPTED_REPLIES} no routing file is set"
    elif weakness := routing.weakness(NORMAL):
        yield f"{Kind.NO_FALLBACK} {weakness}"


def of_windows(routing: Routing, *, needs: Callable[[Lane], int]) -> Iterator[str]:
    """Lanes that can be asked nothing: the character alone fills their windows. `needs`: tokens of a window."""
    for name, lane in routing.lanes.items():
        if lane.context_tokens < (least := needs(lane)):
            yield f"{Kind.WINDOW_TOO_SMALL} {name} ({lane.context_tokens} of at least {least} tokens)"


def of_persona(persona: Persona, today: date) -> Iterator[str]:
    """What is wrong with the review of the character's lines, on this day."""
    if persona.approved_on is None:
        yield f"{Kind.PERSONA_UNAPPROVED} {persona.name}, {persona.version}"
    if persona.review_by < today:
        yield f"{Kind.PERSONA_OVERDUE} due on {persona.review_by}"


def of_file(file: WatchedFile) -> Iterator[str]:
    """What is wrong with the file on disk."""
    try:
        version = file.read(file.path)
    except file.refusal:
        yield f"{Kind.FILE_REFUSED} {file.name}"
    else:
        if version != file.version:
            yield f"{Kind.FILE_CHANGED} {file.name}"


def _looks(path: Path) -> tuple[int, int]:
    try:
        facts = path.stat()
    except OSError:
        return (-1, -1)
    return (facts.st_mtime_ns, facts.st_size)
