"""The acts of staff, their answers, and the transaction that each of them is."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from psycopg import AsyncCursor
from psycopg_pool import AsyncConnectionPool

from companion.rows import Row
from companion.supervision.staff import Staff
from companion.transactions import open_transaction

TRANSACTION_S = 5.0
"""An act that takes longer is answered with an error, and has done nothing."""


class ActKind(StrEnum):
    """The acts, by the names that they have in the audit record."""

    READ_ALONG = "read_along"
    TOOK_OVER = "took_over"
    HANDED_BACK = "handed_back"
    SAID = "said"
    RELEASED = "released_companion"
    PAUSED = "paused_companion"
    RESUMED = "resumed_companion"
    ENDED_VISIT = "ended_visit"
    SAW_FLAG = "saw_flag"
    ACCEPTED_FLAG = "accepted_flag"
    NOTED_FLAG = "noted_flag"
    HANDED_FLAG = "handed_flag"
    TOOK_ON_FLAG = "took_on_flag"
    CLOSED_FLAG = "closed_flag"


class ActRefusal(StrEnum):
    """Why an act was refused, besides the refusals of flags."""

    NOT_THERE = "not_there"
    """No such conversation, visit, person or site at the caller's sites."""
    TAKEN = "taken"
    """Another person has taken over."""
    NOT_TAKEN_OVER = "not_taken_over"
    """The caller has not taken over, or has handed back."""
    TOO_LONG = "too_long"
    EMPTY = "empty"
    VISIT_ENDED = "visit_ended"
    NOT_QUIET = "not_quiet"
    REASON_MISSING = "reason_missing"
    NOTE_MISSING = "note_missing"
    PAUSED_ALREADY = "paused_already"
    NOT_PAUSED = "not_paused"
    BUSY = "busy"
    """Other changes came first again and again. Nothing was changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ActDone:
    """The act is stored. `facts` are ids and codes for the answer."""

    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class ActRefused:
    """Nothing was changed. `code` is an `ActRefusal` or a `FlagRefusal`; `name` is who has it instead, if anyone."""

    code: str
    name: str = ""


ActAnswer = ActDone | ActRefused


class ActRecorder(Protocol):
    """Writes an act to the audit record, in the transaction of `cursor`. `note` holds ids, counts and codes."""

    async def __call__(
        self, cursor: AsyncCursor[Row], act: ActKind, staff: Staff, *, about: int | None, note: str
    ) -> None: ...


def open_act(pool: AsyncConnectionPool[Any]) -> AbstractAsyncContextManager[AsyncCursor[Row]]:
    """Open the transaction of one act. Raises psycopg.Error, also after `TRANSACTION_S`."""
    return open_transaction(pool, within_s=TRANSACTION_S)
