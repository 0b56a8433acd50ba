"""The double of an adapter: says what a test has written down, and remembers what it was asked."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from routing.contracts import Ask, Clocks, Finished, Lane, Usage, Words
from routing.errors import CallFailed, FailureClass

Step = str | Words | Finished | CallFailed | FailureClass | asyncio.Event
"""A text is said; a failure is raised; an event is waited for, which a test can set, or never."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call that was made."""

    lane: Lane
    ask: Ask
    clocks: Clocks


class ScriptedAdapter:
    """An Adapter that plays one script per call, in order.

    Like a real one it closes when its caller leaves, and a script without an end is an incomplete reply. A call
    for which there is no script is a fault of the test, and fails as nothing else does: AssertionError.
    """

    def __init__(self, *scripts: Sequence[Step]) -> None:
        self._scripts = list(scripts)
        self.calls: list[Call] = []
        self.open = 0
        """Calls under way."""

    async def stream(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncGenerator[Words | Finished]:
        self.calls.append(Call(lane=lane, ask=ask, clocks=clocks))
        if not self._scripts:
            raise AssertionError(f"call {len(self.calls)} has no script")
        self.open += 1
        try:
            for step in self._scripts.pop(0):
                match step:
                    case asyncio.Event():
                        await step.wait()
                    case FailureClass():
                        raise CallFailed(step)
                    case CallFailed():
                        raise step
                    case str():
                        yield Words(text=step)
                    case Words():
                        yield step
                    case Finished():
                        yield step
                        return
            raise CallFailed(FailureClass.INCOMPLETE, code="no_finish")
        finally:
            self.open -= 1


def finished(*, truncated: bool = False, model: str = "scripted", usage: Usage | None = None) -> Finished:
    """The last step of a script that goes well."""
    return Finished(truncated=truncated, model=model, bytes_received=0, usage=usage)
