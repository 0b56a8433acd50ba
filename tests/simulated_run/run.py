"""A small model of the service that writes valid histories from a seed, in which the judge must find nothing.

It keeps every promise by construction: words are stored as they are shown, a line of first come first served stands in
front of a ceiling, half answers stay out of prompts, a swept turn is held and answered first.
"""

import random

from ops.ordeal.history import RunHistory
from tests.simulated_run.participants import ModelParticipants
from tests.simulated_run.record import WAIT_CEILING_S, ModelPerson, ModelRecord
from tests.simulated_run.service import LEASE_S, ModelService
from tests.simulated_run.staff import ModelStaff


class SimulatedRun:
    """Writes one history. The same seed writes the same."""

    def __init__(
        self, seed: int, *, people: int = 4, minutes: float = 1.0, ceiling: int = 0, planned: bool = True
    ) -> None:
        self._planned = planned
        self._ends_at = minutes * 60
        self._record = ModelRecord(random.Random(seed), people=people, ceiling=ceiling)
        self.people = self._record.people
        self.later = self._record.later
        self.service = ModelService(self._record)
        self.staff = ModelStaff(self._record, self.service)
        self.participants = ModelParticipants(self._record, self.service, self.staff)
        self._begin(seed)

    def run(self) -> RunHistory:
        """Play to the end and return the history."""
        self._record.play()
        self._finish()
        return RunHistory(sorted(self._record.events, key=lambda event: event.at))

    def _begin(self, seed: int) -> None:
        people = {
            one.name: {
                "conversation": one.conversation,
                "participant": one.conversation,
                "site": 1,
                "code": one.code,
            }
            for one in self.people
        }
        limits = {
            "ceiling": self._record.ceiling,
            "wait_ceiling_s": WAIT_CEILING_S,
            "lease_s": LEASE_S,
            "hold_s": 3600.0,
            "lanes": {"first": self._record.ceiling},
            "end_within_s": 15.0,
        }
        self._record.note(
            "run", "began", seed=seed, people=people, staff={"sam": 7, "tess": 8}, limits=limits
        )
        for name, process in self._record.processes.items():
            self._record.note(f"process:{name}", "started", id=process, pid=1)
        for name in ("sam", "tess"):
            self._record.note(f"staff:{name}/1", "opens", process="web-1")
            self._record.note(f"staff:{name}/1", "hello", frame={"type": "hello", "flags": []})
        for person in self.people:
            self.service.open_page(person)
            if self._planned:
                self._plan(person)
        if self._planned:
            self.later(self._record.random.uniform(5, 20), self.service.kill)

    def _plan(self, person: ModelPerson) -> None:
        at = self._record.random.uniform(0.2, 3.0)
        while at < self._ends_at - WAIT_CEILING_S - 10:
            act = self._record.random.choices(
                (
                    self.participants.say,
                    self.participants.stop,
                    self.service.reconnect,
                    self.participants.say_red,
                    self.staff.take_over,
                    self.participants.say_twice,
                    self.staff.pause,
                    self.participants.press_help,
                ),
                weights=(10, 2, 2, 1, 1, 1, 1, 1),
            )[0]
            self.later(at, lambda act=act: act(person))  # type: ignore[misc]
            at += self._record.random.uniform(1.0, 6.0)

    def _finish(self) -> None:
        self._record.now = max(self._record.now, self._ends_at)
        self._record.note("run", "calm")
        self._record.now += 1.0
        self._record.note("run", "ended")
        for table, rows in (
            ("turns", [turn.row for turn in self._record.turns]),
            ("chunks", []),
            ("entries", self._record.entries),
            ("flags", self._record.flags),
            ("flag_steps", self._record.steps),
            ("pauses", self._record.pauses),
            ("audit", self._record.audit),
            ("left", []),
        ):
            self._record.now += 0.01
            self._record.note("record", "stored", table=table, rows=rows)
