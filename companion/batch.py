"""Many small requests, one transaction: while one batch is under way the next one gathers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batch(Generic[Item, Result]):
    """Hands whatever has gathered to `carry_out`, one call at a time, and gives each caller its own result.

    `carry_out` returns as many results as it got items, in their order; what it raises reaches every
    caller of that batch.
    """

    def __init__(
        self,
        carry_out: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        *,
        at_most: int = 256,
    ) -> None:
        self._carry_out = carry_out
        self._at_most = at_most
        self._gathered: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Result:
        """Wait for the batch that carries `item` out. Cancelling the caller does not undo it."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._gathered.append((item, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._gathered:
            taken, self._gathered = self._gathered[: self._at_most], self._gathered[self._at_most :]
            try:
                results = await self._carry_out([item for item, _ in taken])
            except Exception as failure:
                for _, future in taken:
                    if not future.done():
                        future.set_exception(failure)
                continue
            for (_, future), result in zip(taken, results, strict=True):
                if not future.done():
                    future.set_result(result)
