"""Many small requests, one transaction: while one batch is under way the next one gathers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import psycopg

OF_ITS_OWN = (psycopg.DataError, psycopg.IntegrityError, LookupError)
"""Failures that come of what was asked, and not of the state of the database."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batch(Generic[Item, Result]):
    """Hands whatever has gathered to `carry_out`, one call at a time, and gives each caller its own result.

    `carry_out` returns as many results as it got items, in their order, or raises and has done nothing. What it
    raises reaches every caller of that batch, but for what is one item's own fault.
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

    async def _one_by_one(self, taken: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        for item, future in taken:
            try:
                [result] = await self._carry_out([item])
            except Exception as failure:
                _fail([(item, future)], failure)
            else:
                if not future.done():
                    future.set_result(result)

    async def _work(self) -> None:
        while self._gathered:
            taken, self._gathered = self._gathered[: self._at_most], self._gathered[self._at_most :]
            try:
                results = await self._carry_out([item for item, _ in taken])
            except OF_ITS_OWN as failure:
                if len(taken) > 1:
                    # One of them cannot be carried out. Nothing was, so each is now tried by itself.
                    await self._one_by_one(taken)
                else:
                    _fail(taken, failure)
                continue
            except Exception as failure:
                _fail(taken, failure)
                continue
            for (_, future), result in zip(taken, results, strict=True):
                if not future.done():
                    future.set_result(result)


def _fail(taken: Sequence[tuple[Any, asyncio.Future[Any]]], failure: Exception) -> None:
    for _, future in taken:
        if not future.done():
            future.set_exception(failure)
