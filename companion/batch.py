"""Many small requests, one transaction: while one batch runs, the next one fills."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import psycopg

ITEM_ERRORS = (psycopg.DataError, psycopg.IntegrityError, LookupError)
"""Errors that one item causes, not the state of the database."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batch(Generic[Item, Result]):
    """Passes the collected items to `run`, one call at a time, and gives each caller its own result.

    `run` returns one result for each item, in their order, or raises and has done nothing. What it raises reaches
    every caller of the batch. After one of `ITEM_ERRORS` each item runs alone, so only its own caller sees it.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        *,
        max_items: int = 256,
    ) -> None:
        self._run = run
        self._max_items = max_items
        self._items: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Result:
        """Wait for the batch that holds `item`. Cancelling the caller does not undo it."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._items.append((item, future))
        if self._worker is None or self._worker.done():
            # An empty context: a batch is not about the request of its first item.
            self._worker = asyncio.create_task(self._work(), context=contextvars.Context())
        return await future

    async def _one_by_one(self, taken: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        for item, future in taken:
            try:
                [result] = await self._run([item])
            except Exception as failure:
                _fail([(item, future)], failure)
            else:
                if not future.done():
                    future.set_result(result)

    async def _work(self) -> None:
        while self._items:
            # Taken at once. What is submitted while it runs is the next batch.
            taken, self._items = self._items[: self._max_items], self._items[self._max_items :]
            try:
                results = await self._run([item for item, _ in taken])
            except ITEM_ERRORS as failure:
                if len(taken) > 1:
                    # One item failed and nothing was done, so each is tried alone.
                    await self._one_by_one(taken)
                else:
                    _fail(taken, failure)
                continue
            except Exception as failure:
                _fail(taken, failure)
                continue
            for (_, future), result in zip(taken, results, strict=True):
                # A cancelled caller leaves a cancelled future behind; its item was carried out with the others.
                if not future.done():
                    future.set_result(result)


def _fail(taken: Sequence[tuple[Any, asyncio.Future[Any]]], failure: Exception) -> None:
    for _, future in taken:
        if not future.done():
            future.set_exception(failure)
