"""Performs one answer over a connection: the words at their pace, and the faults that were ordered."""

import asyncio
import gzip
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from routing.rehearsal.error_bodies import ERROR_BODIES, content_type_of
from routing.rehearsal.faults import Fault
from routing.rehearsal.http import Connection
from routing.rehearsal.odd import odd_events, transformed
from routing.rehearsal.record import Asked
from routing.rehearsal.script import pieces as in_words
from routing.rehearsal.stamps import write_stamp
from routing.rehearsal.wire_log import WireLog
from routing.rehearsal.wires import Wire

_SETTLE_S = 0.03
"""Before a reset: the words sent so far reach the reader first, so that a test knows how many arrived."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How fast an unhurried answer comes, where the fault does not say otherwise."""

    first_word_s: float
    word_s: float


class ReplyPerformer:
    """One streamed answer. `perform` returns how it ended, in the words of the record."""

    def __init__(
        self,
        out: Connection,
        wire: Wire,
        *,
        fault: Fault,
        asked: Asked,
        pace: Pace,
        log: WireLog | None = None,
    ) -> None:
        self._out, self._wire, self._fault, self._asked, self._log = out, wire, fault, asked, log
        self._first_s = pace.first_word_s if fault.first_word_s is None else fault.first_word_s
        self._word_s = pace.word_s if fault.pace_ms is None else fault.pace_ms / 1000
        self._chance = random.Random(asked.id)
        self._zipped: list[bytes] | None = None

    @property
    def _is_plain(self) -> bool:
        """Whether a body stands under status 200 in the place of a stream."""
        fault = self._fault
        return bool(fault.error or fault.body) and fault.content_type is not None and not fault.after

    async def perform(self, pieces: list[str]) -> str:
        fault = self._fault
        if fault.disconnect:
            self._out.reset() if fault.disconnect == "reset" else self._out.fin()
            return "cut"
        if fault.hang == "before_byte":
            await asyncio.Event().wait()
        if fault.status is not None:
            return self._refuse(fault.status)
        self._begin()
        await self._before_words()
        stops = bool(fault.cut or fault.error or fault.body or fault.hang == "after_words")
        await self._words(pieces[: fault.after] if stops else pieces)
        if stops:
            return await self._stop_short()
        self._send(self._ending())
        self._out.end()
        return "finished"

    def _refuse(self, status: int) -> str:
        fault = self._fault
        name = fault.error or ("empty" if status in (204, 304) else "server_error")
        body = ERROR_BODIES[name] if fault.body is None else fault.body.encode("utf-8", "replace")
        kind = fault.content_type or content_type_of(name)
        self._asked.status, self._asked.first_byte_at = status, time.perf_counter()
        self._out.whole(status, {"Content-Type": kind, "Date": _date(), **fault.headers}, body)
        return "failed"

    def _begin(self) -> None:
        fault = self._fault
        headers = {"Content-Type": fault.content_type or self._wire.content_type, "Date": _date()}
        framing = "close" if fault.cut in ("close_early", "mid_json") else "chunked"
        if fault.cut == "short_length":
            framing = "1000000"
        if fault.cut == "gzip":
            headers["Content-Encoding"] = "gzip"
            self._zipped = []
        self._asked.status, self._asked.first_byte_at = 200, time.perf_counter()
        self._out.begin(200, headers | fault.headers, framing=framing)
        if "bom" in fault.odd:
            self._out.send(b"\xef\xbb\xbf")
        if not self._is_plain:
            self._send(self._wire.opening())

    async def _before_words(self) -> None:
        fault = self._fault
        if fault.hang == "before_word":
            await self._silence(None)
        await self._silence(self._first_s)
        for _ in range(fault.reasoning or (20 if fault.reply == "reasoning_only" else 0)):
            self._send(self._wire.reasoning("Let me think. "))
            await self._out.drain()
            await asyncio.sleep(self._word_s)

    async def _words(self, pieces: list[str]) -> None:
        fault, asked, due = self._fault, self._asked, time.perf_counter()
        say = self._wire.refusal if fault.refusal else self._wire.words
        odd = odd_events(self._wire, fault.odd)
        for number, piece in enumerate(pieces):
            if number:
                due += self._word_s * (1 if fault.even else self._chance.uniform(0.7, 1.3))
                ahead = due - time.perf_counter()
                if ahead > 0:
                    await asyncio.sleep(ahead)
                elif number % 64 == 0:
                    await asyncio.sleep(0)
            now = time.perf_counter()
            if asked.first_word_at is None:
                asked.first_word_at = now
            asked.last_word_at, asked.words_sent = now, asked.words_sent + 1
            text = f"{write_stamp(now)} " if fault.stamp else piece
            # Logged first: what was sent is then never missing from the log.
            if self._log is not None:
                self._log.write("piece", asked.id, text=text)
            self._send(say(text))
            if odd and number == 0:
                self._send(b"".join(odd))
            await self._out.drain()

    def _ending(self) -> bytes:
        fault, wire = self._fault, self._wire
        if fault.finish is None:
            return wire.done()
        text = " The end." if "finish_with_words" in fault.odd else None
        events = wire.finish(fault.finish, text=text)
        if "no_last_blank" in fault.odd:
            return events.rstrip(b"\n")
        events += wire.usage()
        return events if "no_done" in fault.odd else events + wire.done()

    async def _stop_short(self) -> str:
        fault, out = self._fault, self._out
        if fault.hang == "after_words":
            await self._silence(None)
        if fault.body is not None:
            self._send(fault.body.encode("utf-8", "replace"))
            out.end()
            return "failed"
        if fault.error is not None:
            body = ERROR_BODIES[fault.error]
            event = self._wire.error(body, event=fault.error_event) + self._wire.done()
            self._send(body if self._is_plain else event)
            out.end()
            return "failed"
        if fault.cut in ("mid_json",):
            out.send(self._wire.words(" half")[:-30])
        if fault.cut == "gzip":
            out.send(gzip.compress(b"".join(self._zipped or []))[:-12])
        if fault.cut in ("no_finish", "gzip"):
            out.end()
            return "cut"
        if fault.cut == "reset":
            await asyncio.sleep(_SETTLE_S)
            out.reset()
        else:
            out.fin()
        return "cut"

    async def _silence(self, seconds: float | None) -> None:
        """Wait, for ever if None, sending pings if the fault asks for them."""
        if self._fault.pings_ms is None:
            await (asyncio.Event().wait() if seconds is None else asyncio.sleep(seconds))
            return
        until = None if seconds is None else time.perf_counter() + seconds
        while until is None or time.perf_counter() < until:
            self._send(self._wire.ping())
            await asyncio.sleep(self._fault.pings_ms / 1000)

    def _send(self, events: bytes) -> None:
        if self._zipped is not None:
            self._zipped.append(events)
            return
        for part in transformed(events, self._fault.odd):
            self._out.send(part)


def reply_pieces(fault: Fault, text: str) -> Iterator[str]:
    """The pieces a reply goes out in, as the fault has it."""
    if fault.reply in ("empty", "reasoning_only"):
        return
    if fault.reply == "whitespace":
        yield from (" ", "\n\n", "\t ")
    elif fault.pieces is not None:
        yield from fault.pieces
    elif fault.say is not None and fault.split:
        yield from (fault.say[at : at + fault.split] for at in range(0, len(fault.say), fault.split))
    else:
        yield from in_words(fault.say if fault.say is not None else text)


def _date() -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
