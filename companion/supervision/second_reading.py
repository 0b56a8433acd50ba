"""The second reading: a lane reads each message once more, after it was stored. It may only raise a tier.

Off unless a lane is named for it. It has a budget of calls and of time, and nothing waits for it. A lane that is silent
or answers rubbish changes nothing, nor does a spent budget: operators are alerted. What it raises is a flag like any.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from companion.engine import LaneCaller
from companion.supervision.causes import FlagCause
from companion.supervision.flags import notify_flags_changed, raise_flag
from companion.supervision.noticing import MAX_RULE_CHARS, MAX_VERSION_CHARS
from companion.supervision.states import FlagKind, FlagSource, FlagTier
from routing.contracts import Ask, Clocks, Finished, Lane, Message
from routing.errors import CallFailed, FailureClass

log = logging.getLogger(__name__)

MAX_QUEUED = 200
"""Messages that wait to be read. Beyond them the newest is left out."""
READERS = 2
"""Calls at once in one process."""
ANSWER_TOKENS = 16
MAX_ANSWER_CHARS = 60
"""An answer is one word. A longer one is rubbish, and is not read to its end."""
MINUTE_S = 60.0
ANSWERS: dict[str, FlagTier | None] = {"red": FlagTier.RED, "amber": FlagTier.AMBER, "none": None}
_RANK: dict[FlagTier | None, int] = {None: 0, FlagTier.AMBER: 1, FlagTier.RED: 2}

# Read when its turn has come: a message that is erased meanwhile is sent nowhere.
READ_MESSAGE = """
SELECT t.conversation_id, t.question, s.regions
FROM companion_turn t
JOIN companion_conversation c ON c.id = t.conversation_id
JOIN companion_participant p ON p.id = c.participant_id
JOIN companion_site s ON s.id = p.site_id
WHERE t.id = %(turn)s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondReadingPolicy:
    """Which lane reads, what it is asked, and its budget. `version` is that of the file that holds the question."""

    lane: Lane
    question: str
    version: str
    calls_per_minute: int
    seconds: float
    """For one call, from its start to its last word."""


class AnswerRefused(Exception):
    """The lane answered something other than one of the three words. Holds no word of it."""


class SecondReader:
    """Reads the messages of one process. `on_trouble` is given a code when a message could not be read."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        caller: LaneCaller,
        policy: SecondReadingPolicy,
        *,
        on_trouble: Callable[[str], None],
    ) -> None:
        self._pool = pool
        self._caller = caller
        self._policy = policy
        self._on_trouble = on_trouble
        self._queue: asyncio.Queue[tuple[int, FlagTier | None]] = asyncio.Queue(MAX_QUEUED)
        self._calls: deque[float] = deque()

    def submit(self, turn: int, tier: FlagTier | None) -> None:
        """Have the message of a turn read, which the rules put into this tier. Never waits."""
        if tier is FlagTier.RED:
            return
        try:
            self._queue.put_nowait((turn, tier))
        except asyncio.QueueFull:
            self._report("queue_full")

    async def run(self) -> None:
        """Read messages until cancelled."""
        async with asyncio.TaskGroup() as readers:
            for _ in range(READERS):
                readers.create_task(self._read_on())

    async def _read_on(self) -> None:
        while True:
            turn, tier = await self._queue.get()
            try:
                await self._read(turn, tier)
            except CallFailed as failed:
                self._report(failed.failure.value)
            except AnswerRefused:
                self._report("rubbish")
            except TimeoutError:
                self._report("too_slow")
            except psycopg.Error as failure:
                self._report(type(failure).__name__)
            except Exception as failure:
                # The class only: the text of an exception may quote a participant.
                log.error("second_reading.broke cause=%s", type(failure).__name__)
                self._report("broke")

    async def _read(self, turn: int, known: FlagTier | None) -> None:
        async with self._pool.connection() as connection:
            row = await (await connection.execute(READ_MESSAGE, {"turn": turn})).fetchone()
        if row is None:
            return
        conversation, text, regions = row
        if regions and self._policy.lane.region not in regions:
            # A site's messages never leave its regions.
            return
        if not self._spend():
            self._report("budget")
            return
        tier = await self._ask(turn, text)
        if _RANK[tier] <= _RANK[known] or tier is None:
            return
        await self._raise(conversation, turn, tier)

    def _spend(self) -> bool:
        """Take one call of the budget. False: it is spent for this minute."""
        now = asyncio.get_running_loop().time()
        while self._calls and self._calls[0] <= now - MINUTE_S:
            self._calls.popleft()
        if len(self._calls) >= self._policy.calls_per_minute:
            return False
        self._calls.append(now)
        return True

    async def _ask(self, turn: int, text: str) -> FlagTier | None:
        policy, answer = self._policy, ""
        messages = (Message(role="system", text=policy.question), Message(role="user", text=text))
        ask = Ask(reference=f"second-{turn}", messages=messages, max_tokens=ANSWER_TOKENS)
        clocks = Clocks(
            connect_s=policy.lane.connect_ms / 1000,
            first_word_s=None,
            reasoning_s=None,
            idle_s=policy.seconds,
            total_s=policy.seconds,
            reply_s=policy.seconds,
            whole_s=policy.seconds,
        )
        async with (
            asyncio.timeout(policy.seconds),
            aclosing(self._caller.call(policy.lane, ask, clocks)) as events,  # type: ignore[type-var]
        ):
            async for event in events:
                if isinstance(event, Finished):
                    return parse_answer(answer)
                answer += event.text
                if len(answer) > MAX_ANSWER_CHARS:
                    raise AnswerRefused
        raise CallFailed(FailureClass.INCOMPLETE)

    async def _raise(self, conversation: int, turn: int, tier: FlagTier) -> None:
        cause = FlagCause(
            conversation=conversation,
            tier=tier,
            kind=FlagKind.SECOND_READING,
            source=FlagSource.LANE,
            rule=self._policy.lane.name[:MAX_RULE_CHARS],
            rules_version=self._policy.version[:MAX_VERSION_CHARS],
            turn=turn,
        )
        async with (
            self._pool.connection() as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            flag = await raise_flag(cursor, cause)
            await notify_flags_changed(cursor, [flag] if flag else [])
        if flag is not None:
            log.warning("second_reading.raised flag=%d turn=%d tier=%s", flag.flag, turn, tier)

    def _report(self, code: str) -> None:
        log.warning("second_reading.not_read lane=%s cause=%s", self._policy.lane.name, code)
        self._on_trouble(code)


def parse_answer(answer: str) -> FlagTier | None:
    """The tier that an answer names. Raises AnswerRefused unless it is one of the three words."""
    word = answer.strip().strip(".\"'*").casefold()
    if word not in ANSWERS:
        raise AnswerRefused
    return ANSWERS[word]
