"""The chain a turn keeps from its start to its end, and the one place where a lane meets its adapter."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Literal

from routing.contracts import Adapter, Ask, Clocks, Finished, Lane, Words
from routing.errors import CallFailed, FailureClass
from routing.lanes import Routing


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """What was selected when a turn started. A later selection does not touch it."""

    preset: str
    version: int
    lanes: tuple[Lane, ...]
    marking: Literal["none", "reduced"]
    ceiling: int | None
    """Turns in flight over all lanes, if the preset has a ceiling of its own."""


def route(routing: Routing, preset: str, version: int) -> Route:
    """The route of a preset, with the version of the selection. Raises KeyError if there is no such preset."""
    chosen = routing.presets[preset]
    lanes = tuple(routing.lanes[name] for name in chosen.chain)
    return Route(
        preset=preset,
        version=version,
        lanes=lanes,
        marking=chosen.marking,
        ceiling=chosen.ceiling,
    )


class Caller:
    """Makes one call to one lane through the adapter the lane names."""

    def __init__(self, adapters: Mapping[str, Adapter]) -> None:
        self._adapters = adapters

    def call(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncIterator[Words | Finished]:
        """The adapter's events; see `routing.contracts.Adapter`. Use under `contextlib.aclosing`."""
        adapter = self._adapters.get(lane.adapter)
        return _unspoken() if adapter is None else adapter.stream(lane, ask, clocks)


async def _unspoken() -> AsyncIterator[Words | Finished]:
    """The stream of a lane whose wire nobody here speaks."""
    nothing: tuple[Words, ...] = ()
    for event in nothing:
        yield event
    raise CallFailed(FailureClass.MISCONFIGURED, code="no_adapter")
