"""What every provider's adapter shares: one HTTP call, its clocks, its end, its failures.

A wire is a pure `Reader` that is fed bytes and says what was said; everything that waits is here.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol, cast

import httpx

from routing import classify
from routing.adapters.deadlines import Deadlines
from routing.adapters.ending import StreamEnding
from routing.adapters.translate import class_of, code_of
from routing.adapters.transport import NOTE, ConnectionNote
from routing.adapters.unpacking import Unpacker, unpacker_for
from routing.contracts import Ask, Clocks, Finished, Lane, Usage, Words
from routing.errors import CallFailed, FailureClass

ERROR_BODY_LIMIT = 64 * 1024
ERROR_BODY_S = 2.0
"""Bytes and seconds spent on the body of an error. What is not here by then would not change the class."""
USAGE_S = 0.5
"""Seconds after a reply's end in which a lane that was asked for the usage may tell it."""
READ_WHOLE = 8 * 1024
"""Bytes in one read from which on a provider floods us, and nothing needs to gather."""
REPLY_LIMIT = 32 * 1024 * 1024
"""Bytes of one answer. No reply is this long; a stream that is has run wild."""


class Reader(Protocol):
    """A wire, pure: bytes in, visible text out. Never raises, for any bytes."""

    ending: StreamEnding | None
    """Set once nothing more needs to be read."""
    reasoned: bool
    """Whether the last feed held reasoning."""
    model: str | None

    usage: Usage | None
    """As the provider told it, if it did."""

    def feed_usage(self, data: bytes) -> bool:
        """After the end: look for the usage alone. Returns whether more may come."""
        ...

    def feed(self, data: bytes) -> str:
        """The visible text, mended, that these bytes complete; may be empty."""
        ...

    def close(self) -> str:
        """The body has ended: any text left over. Sets `ending`."""
        ...

    def expire(self) -> str:
        """Nothing came in time: any text left over. Sets `ending` if the reply can have been whole before."""
        ...

    def expect_thoughts(self) -> None:
        """Before the first bytes: everything up to the mark at the end of thoughts is no part of the reply."""
        ...

    @property
    def closed_unopened_thoughts(self) -> bool:
        """Whether thoughts ended that no mark had begun."""
        ...


class HttpAdapter:
    """The shared half of an adapter. A provider's half says what to send and reads what comes back."""

    def __init__(
        self, client: httpx.AsyncClient, *, environ: Mapping[str, str] = os.environ, gather_s: float = 0.0
    ) -> None:
        self._client = client
        self._environ = environ
        self._gather_s = gather_s
        self._thinks_unopened: set[str] = set()
        """Lanes whose last reply ended thoughts that no mark had begun: their next is heard from that mark on."""

    def url(self, lane: Lane) -> str:
        raise NotImplementedError

    def body(self, lane: Lane, ask: Ask) -> bytes:
        raise NotImplementedError

    def headers(self, key: str | None) -> dict[str, str]:
        raise NotImplementedError

    def reader(self) -> Reader:
        raise NotImplementedError

    async def stream(self, lane: Lane, ask: Ask, clocks: Clocks) -> AsyncGenerator[Words | Finished]:
        """See `routing.contracts.Adapter`."""
        call = _Call(clocks)
        request = self._request(lane, ask, clocks, call.note)
        reader = self.reader()
        if lane.thoughts == "unopened" or lane.name in self._thinks_unopened:
            reader.expect_thoughts()
        response = await call.open(self._client, request)
        try:
            # The stream itself and not `aiter_raw`, which would put two more generators under every chunk.
            stream = cast(httpx.AsyncByteStream, response.stream)
            async with contextlib.aclosing(cast(AsyncGenerator[bytes], stream.__aiter__())) as chunks:
                while reader.ending is None:
                    text = await call.hear(chunks, reader)
                    if text:
                        yield Words(text=text, bytes_received=call.received)
                        if not text.isspace():
                            call.deadlines.spoke(call.now())
                        if self._gather_s and not call.has_more:
                            await _until_next_tick(self._gather_s, call.now())
                if lane.usage == "asked" and reader.ending.failure is None and reader.usage is None:
                    await call.hear_usage(chunks, reader)
        finally:
            await _closed(response)
            if reader.ending is None:
                call.note.abandon()
        ending = reader.ending
        self._learn(lane, reader)
        if ending.failure is not None:
            raise call.failed(ending.failure, code=ending.code)
        yield Finished(
            truncated=ending.truncated,
            model=reader.model or lane.model,
            bytes_received=call.received,
            usage=reader.usage,
        )

    def _learn(self, lane: Lane, reader: Reader) -> None:
        if reader.closed_unopened_thoughts:
            self._thinks_unopened.add(lane.name)
        elif reader.ending is not None and reader.ending.failure is None:
            self._thinks_unopened.discard(lane.name)

    def _request(self, lane: Lane, ask: Ask, clocks: Clocks, note: ConnectionNote) -> httpx.Request:
        key = None
        if lane.api_key_env is not None:
            key = self._environ.get(lane.api_key_env, "").strip()
            if not key or not key.isascii() or not key.isprintable():
                raise CallFailed(FailureClass.MISCONFIGURED, code="no_key")
        headers = {
            "Accept": "text/event-stream",
            # Compression would hold words back until a block is full.
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "care-companion",
            "X-Request-Id": ask.reference,
            **self.headers(key),
        }
        # To the aiohttp transport `pool` bounds looking the name up as well; httpx does that inside `connect`.
        timeout = httpx.Timeout(None, connect=clocks.connect_s, pool=clocks.connect_s)
        try:
            return self._client.build_request(
                "POST",
                self.url(lane),
                content=self.body(lane, ask),
                headers=headers,
                timeout=timeout,
                extensions={"trace": note.httpx_trace},
            )
        except Exception as error:
            failure, code = class_of(error), code_of(error)
        raise CallFailed(failure, code=code)


class _Call:
    """One call under way: its clock, its bytes, and the translation of what goes wrong."""

    def __init__(self, clocks: Clocks) -> None:
        self.now = asyncio.get_running_loop().time
        self.deadlines = Deadlines(clocks, now=self.now())
        self.note = ConnectionNote()
        self.received = 0
        self.has_more = False
        """The last read was so large that there is probably more to read at once."""
        self.status: int | None = None
        self._unpacker: Unpacker | None = None

    def failed(self, failure: FailureClass, **told: Any) -> CallFailed:
        return CallFailed(failure, status=self.status, bytes_received=self.received, **told)

    async def open(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """Send, and return the head of a 200; anything else is a failure."""
        NOTE.set(self.note)
        try:
            async with asyncio.timeout_at(self.deadlines.at):
                response = await client.send(request, stream=True)
        except asyncio.CancelledError:
            self.note.abandon()
            raise
        except TimeoutError:
            self.note.abandon()
            failed = self._late()
        except Exception as error:
            failed = self._broken(error, before_head=True)
        else:
            self.status = response.status_code
            if self.status == 200 and self._unpacks(response):
                return response
            failed = await self._refused(response)
        # Raised out here, so that no exception of the library, which holds the headers, hangs on it as context.
        raise failed

    async def hear(self, chunks: AsyncIterator[bytes], reader: Reader) -> str:
        """Wait for more bytes, or the end of them; return the text they complete."""
        try:
            async with asyncio.timeout_at(self.deadlines.at):
                data = await anext(chunks)
        except StopAsyncIteration:
            return reader.close()
        except TimeoutError:
            text = reader.expire()
            if reader.ending is not None:
                return text
            failed = self._late()
        except Exception as error:
            failed = self._broken(error)
        else:
            self.received += len(data)
            self.has_more = len(data) >= READ_WHOLE
            if self.received > REPLY_LIMIT:
                raise self.failed(FailureClass.INCOMPLETE, code="too_large")
            text = reader.feed(self._unpacked(data))
            if reader.reasoned:
                self.deadlines.reasoned(self.now())
            return text
        raise failed

    async def hear_usage(self, chunks: AsyncIterator[bytes], reader: Reader) -> None:
        """Read on until the usage arrives. All words are out by then: a failure costs the figure alone."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(USAGE_S):
                async for data in chunks:
                    self.received += len(data)
                    if self.received > REPLY_LIMIT or not reader.feed_usage(self._unpacked(data)):
                        return

    def _late(self) -> CallFailed:
        failure, code = self.deadlines.expired()
        return self.failed(failure, code=code)

    def _broken(self, error: Exception, *, before_head: bool = False) -> CallFailed:
        failure = class_of(error)
        if failure is FailureClass.NETWORK and before_head and self.note.reused:
            failure = FailureClass.NETWORK_REUSED
        return self.failed(failure, code=code_of(error))

    def _unpacks(self, response: httpx.Response) -> bool:
        try:
            self._unpacker = unpacker_for(response.headers.get("content-encoding"))
        except ValueError:
            return False
        return True

    def _unpacked(self, data: bytes) -> bytes:
        if self._unpacker is None:
            return data
        try:
            return self._unpacker.feed(data, limit=REPLY_LIMIT)
        except ValueError:
            raise self.failed(FailureClass.INCOMPLETE, code="content_encoding") from None

    async def _refused(self, response: httpx.Response) -> CallFailed:
        """What an answer other than 200 means; reads as much of its body as is reasonable."""
        if self.status == 200:
            await _closed(response)
            return self.failed(FailureClass.INCOMPLETE, code="content_encoding")
        body = bytearray()
        try:
            async with asyncio.timeout_at(min(self.deadlines.total, self.now() + ERROR_BODY_S)):
                unpacker = unpacker_for(response.headers.get("content-encoding"))
                async for chunk in response.aiter_raw():
                    body += unpacker.feed(chunk, limit=ERROR_BODY_LIMIT) if unpacker else chunk
                    if len(body) > ERROR_BODY_LIMIT:
                        break
        except Exception:
            # The status alone decides then.
            pass
        finally:
            await _closed(response)
        self.received = len(body)
        verdict = classify.classify_response(
            status=response.status_code, headers=response.headers, body=bytes(body), now=datetime.now(UTC)
        )
        return self.failed(verdict.failure, code=verdict.code, retry_after_s=verdict.retry_after_s)


async def _until_next_tick(tick_s: float, now: float) -> None:
    """Let more words gather, so that a quick provider wakes a turn once in a tick and not once for each word.

    All turns count their ticks from the same moment: they wake together, and what they say is stored together.
    """
    await asyncio.sleep(tick_s - now % tick_s)


async def _closed(response: httpx.Response) -> None:
    with contextlib.suppress(Exception):
        await response.aclose()
