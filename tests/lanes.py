"""Two lanes that belong to one test, each with its rehearsal provider: breakers opened here affect no other test."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection

from companion.models import BreakerState
from ops.selections.selector import SelectionRequest, Selector
from routing import lanes
from routing.selection import Selection
from tests.chains import lane_text
from tests.patience import until
from tests.people import in_database
from tests.processes import Rehearsal


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """A head in the UK and a backup in the EU, their providers, and the presets `normal`, `pin_backup`, `reduced_…`."""

    folder: Path
    word: str
    primary: Rehearsal
    backup: Rehearsal

    @property
    def head(self) -> str:
        return f"head-{self.word}"

    @property
    def second(self) -> str:
        return f"second-{self.word}"

    @property
    def pin(self) -> str:
        """The preset whose only lane is the backup."""
        return f"pin_{self.word}"

    @property
    def reduced(self) -> str:
        """The preset whose only lane is the backup, marked as reduced."""
        return f"reduced_{self.word}"

    def write_settings(
        self,
        *,
        head_takes: int = 200,
        second_takes: int = 200,
        adapter: str = "openai",
        first_word_ms: int = 3_000,
        **both: Any,
    ) -> dict[str, str]:
        """Write a routing file; returns a web process's settings to serve it. `both`: further keys of both lanes."""
        path = self._write_routing(head_takes, second_takes, adapter, first_word_ms, **both)
        state = self.folder / f"state-{uuid.uuid4().hex[:6]}"
        return {
            "COMPANION_ROUTING": str(path),
            "COMPANION_STATE_DIR": str(state),
            "COMPANION_CEILING": "500",
            "COMPANION_BREAKER_COOLDOWN_S": "2",
        }

    def _write_routing(
        self, head_takes: int, second_takes: int, adapter: str, first_word_ms: int, **both: Any
    ) -> Path:
        head = lane_text(
            self.head,
            base_url=self.primary.url,
            adapter=adapter,
            max_in_flight=head_takes,
            first_word_ms=first_word_ms,
            **both,
        )
        second = lane_text(
            self.second,
            base_url=self.backup.url,
            region="eu",
            max_in_flight=second_takes,
            first_word_ms=first_word_ms,
            **both,
        )
        presets = (
            f'[presets.normal]\nchain = ["{self.head}", "{self.second}"]\n'
            f'[presets.{self.pin}]\nchain = ["{self.second}"]\n'
            f'[presets.{self.reduced}]\nchain = ["{self.second}"]\nmarking = "reduced"\n'
        )
        path = self.folder / f"routing-{uuid.uuid4().hex[:6]}.toml"
        path.write_text(head + second + presets)
        return path

    def select(self, preset: str) -> Selection:
        """Select a preset as an operator does."""
        routing = lanes.load(self._write_routing(1, 1, "openai", 3_000))
        selector = Selector(routing, concerns_about=lambda _: (), copy_version=lambda: 0)
        return in_database(
            lambda: selector.select(SelectionRequest(preset=preset, by="Ines", reason="a test"))
        )

    def breaker(self) -> BreakerState | None:
        """The breaker row of the head lane, if there is one."""
        return in_database(lambda: BreakerState.objects.filter(lane=self.head).first())

    async def wait_until_cooled_down(self) -> None:
        """Wait until the cooldown of the head's open breaker is over, by the database's clock."""
        await until(lambda: in_database(self._is_cooled_down), within_s=30)

    def _is_cooled_down(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT opened_until <= clock_timestamp() FROM companion_breaker WHERE lane = %s", [self.head]
            )
            row = cursor.fetchone()
        return row is not None and bool(row[0])

    def clear(self) -> None:
        """Remove the faults and the recorded requests of both providers."""
        self.primary.clear()
        self.backup.clear()


@contextmanager
def build_lanes(folder: Path, primary: Rehearsal, backup: Rehearsal) -> Iterator[Lanes]:
    """Build the lanes of one test. On exit, clear the faults and select `normal`."""
    made = Lanes(folder=folder, word=uuid.uuid4().hex[:8], primary=primary, backup=backup)
    made.clear()
    try:
        yield made
    finally:
        made.clear()
        made.select("normal")
