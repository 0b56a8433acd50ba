"""The clock, the events and the rows of the model, and its people."""

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ops.ordeal.history import HistoryEvent

PAUSE = "I have to stop here for a moment."
WAIT_CEILING_S = 20.0


@dataclass(eq=False)
class ModelTurn:
    """One turn of the model, and the row that it becomes."""

    row: dict[str, Any]
    words: list[str] = field(default_factory=list)
    call: str = ""
    shown: int = 0
    held: list["ModelTurn"] = field(default_factory=list)
    breaks_after: int | None = None
    extra_words: int = 0

    @property
    def is_live(self) -> bool:
        return self.row["state"] in ("waiting", "speaking")


@dataclass(eq=False)
class ModelPerson:
    """One participant with one open page."""

    name: str
    conversation: int
    code: str
    process: str
    page: int = 0
    said: int = 0
    turns: list[ModelTurn] = field(default_factory=list)
    taken_by: str = ""
    is_paused: bool = False

    @property
    def first_live(self) -> ModelTurn | None:
        return next((turn for turn in self.turns if turn.is_live), None)

    @property
    def who(self) -> str:
        return f"page:{self.name}/{self.page}"


class ModelRecord:
    """What has happened, what is stored, and what is due. Times in seconds."""

    def __init__(self, chance: random.Random, *, people: int, ceiling: int) -> None:
        self.random = chance
        self.now = 0.0
        self.events: list[HistoryEvent] = []
        self.ceiling = ceiling or chance.choice((1, 2, 3))
        self.processes = {"web-1": "p-1-0", "web-2": "p-2-0"}
        self.turns: list[ModelTurn] = []
        self.entries: list[dict[str, Any]] = []
        self.flags: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.audit: list[dict[str, Any]] = []
        self.pauses: list[dict[str, Any]] = []
        self.people = [
            ModelPerson(f"person{n}", 100 + n, f"heron-{n}", chance.choice(list(self.processes)))
            for n in range(1, people + 1)
        ]
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()

    def play(self) -> None:
        """Do all that is due, in order of time, until nothing is."""
        while self._due:
            self.now, _, act = heapq.heappop(self._due)
            act()

    def later(self, delay_s: float, act: Callable[[], object]) -> None:
        heapq.heappush(self._due, (self.now + delay_s, next(self._order), act))

    def note(self, who: str, what: str, **data: Any) -> None:
        self.events.append(HistoryEvent(at=round(self.now, 4), who=who, what=what, data=data))

    def show(self, person: ModelPerson, **frame: Any) -> None:
        self.note(person.who, "got", frame=frame)
