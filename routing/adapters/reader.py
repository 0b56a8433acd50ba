"""PURE. What the readers of all wires share: events out of bytes, and text held back until something is visible."""

import contextlib
import unicodedata
from typing import Any

from routing import classify, sse
from routing.adapters.ending import StreamEnding
from routing.adapters.finishing import ending_of
from routing.adapters.thoughts import Thoughts
from routing.contracts import Usage
from routing.errors import UNOPENED_THOUGHTS, FailureClass
from routing.mend import Mender

_BODY_KEPT = 256 * 1024
"""Bytes kept while no event has been seen: the body may turn out to be no stream at all."""
MOST_TOKENS = 100_000_000
"""A count that is higher is no count."""


class StreamReader:
    """Reads one streamed answer; see `routing.adapters.base.Reader`. A wire says what its objects mean."""

    def __init__(self) -> None:
        self.ending: StreamEnding | None = None
        self.reasoned = False
        self.model: str | None = None
        self.usage: Usage | None = None
        """As told so far; whole once the reply has ended."""
        self._decoder = sse.Decoder()
        self._mender = Mender()
        self._thoughts = Thoughts()
        self._body: bytearray | None = bytearray()
        self._leading = ""
        self._visible = False

    def expect_thoughts(self) -> None:
        """Before the first bytes: this lane's replies begin with thoughts, and no mark says so."""
        self._thoughts = Thoughts(unopened=True)

    @property
    def closed_unopened_thoughts(self) -> bool:
        """Whether thoughts ended that no mark had begun."""
        return self._thoughts.closed_unopened

    def object(self, found: dict[str, Any], said: list[str]) -> None:
        """One object of the stream, which is no error: append what is visible, and `finish` if it ends the reply."""
        raise NotImplementedError

    def whole(self, found: dict[str, Any], said: list[str]) -> None:
        """The same for a whole answer, from a server that ignored that a stream was asked for."""
        raise NotImplementedError

    def concerns(self, found: dict[str, Any]) -> bool:
        """Whether an object is about the reply although its event has a name that this wire does not know."""
        raise NotImplementedError

    def settle(self, said: list[str], *, is_proved: bool) -> bool:
        """Nothing more comes: take a reason that might not have been the end for it, and return whether there is one.

        `is_proved`: the server itself said that nothing more comes.
        """
        return False

    def feed(self, data: bytes) -> str:
        self.reasoned = False
        try:
            events = self._decoder.feed(data)
        except sse.TooLarge:
            self.ending = StreamEnding(failure=FailureClass.INCOMPLETE, code="too_large")
            return ""
        if self._body is not None:
            if events:
                self._body = None
            elif len(self._body) < _BODY_KEPT:
                self._body += data
        return self._read(events)

    def close(self) -> str:
        self.reasoned = False
        said: list[str] = []
        self._events(self._decoder.close(), said)
        if self.ending is None and self._body is not None:
            return self._of_body(bytes(self._body))
        if self.ending is None and not self.settle(said, is_proved=False):
            self.fail(FailureClass.INCOMPLETE, "no_finish")
        return self._shown("".join(said))

    def expire(self) -> str:
        """Nothing came in time. Sets `ending` if the reply can have been whole before."""
        said: list[str] = []
        return self._shown("".join(said)) if self.settle(said, is_proved=False) else ""

    def feed_usage(self, data: bytes) -> bool:
        """After the end: look for the usage alone. Returns whether more may come."""
        with contextlib.suppress(sse.TooLarge):
            events = self._decoder.feed(data)
            self._count(events)
            return self.usage is None and not any(event.data.strip() == "[DONE]" for event in events)
        return False

    def count(self, found: dict[str, Any]) -> None:
        """Take the usage from one object of the stream, if it holds one."""

    def fail(self, failure: FailureClass, code: str | None) -> None:
        self.ending = StreamEnding(failure=failure, code=code)

    def finish(self, reason: Any) -> None:
        """A terminal reason was seen. Whether anything visible came before it is looked at when the text is shown."""
        self.ending = ending_of(reason)

    def named(self, model: Any) -> None:
        """Who says it answers."""
        self.model = model[:200] if isinstance(model, str) and model.isprintable() else None

    def _read(self, events: list[sse.Event]) -> str:
        said: list[str] = []
        self._events(events, said)
        return self._shown("".join(said))

    def _events(self, events: list[sse.Event], said: list[str]) -> None:
        for place, event in enumerate(events, start=1):
            self._event(event, said)
            if self.ending is not None:
                self._count(events[place:])
                return

    def _count(self, events: list[sse.Event]) -> None:
        """Some servers tell the usage after the end."""
        for event in events:
            found = classify.parse_json(event.data) if '"usage"' in event.data else None
            if isinstance(found, dict):
                self.count(found)

    def _event(self, event: sse.Event, said: list[str]) -> None:
        data = event.data.strip()
        if data == "[DONE]":
            # Some servers send it after an error and after an abort: it proves nothing.
            if not self.settle(said, is_proved=True):
                self.fail(FailureClass.INCOMPLETE, "done_without_finish")
            return
        is_known = self.reads(event.name)
        if not data or (data == "null" and event.name != "error"):
            return
        found = classify.parse_json(data)
        if not is_known:
            # Gateways give events names of their own.
            if isinstance(found, dict) and not classify.is_error(found) and self.concerns(found):
                self.object(found, said)
        elif event.name == "error" or classify.is_error(found):
            verdict = classify.classify_object(found)
            self.fail(verdict.failure, verdict.code)
        elif isinstance(found, dict):
            self.object(found, said)
        elif found is None:
            self.fail(FailureClass.INCOMPLETE, "malformed")

    def reads(self, name: str) -> bool:
        """Whether an event of this name concerns the reply. Others are passed over unless they hold a part of it."""
        return name in ("message", "error")

    def _shown(self, text: str) -> str:
        """Mend, and take thoughts out; keep blank text back until something visible comes."""
        text = self._thoughts.feed(self._mender.mend(text))
        self.reasoned = self.reasoned or self._thoughts.dropped
        if self.ending is not None:
            text += self._thoughts.feed(self._mender.close()) + self._thoughts.close()
        if text and not self._visible:
            # Nothing has been said before that.
            text = self._leading + text
            self._visible = _is_visible(text)
            self._leading = "" if self._visible else text[:10_000]
            text = text if self._visible else ""
        self._judge()
        return "" if self._thoughts.leaked else text

    def _judge(self) -> None:
        """What the text makes of the ending: nothing visible is empty, and thoughts that went out as words break it."""
        ending = self.ending
        if self._thoughts.leaked:
            self.fail(FailureClass.INCOMPLETE, UNOPENED_THOUGHTS)
        elif ending is None or ending.failure is not None:
            return
        elif not self._visible:
            self.fail(FailureClass.EMPTY, ending.code)
        elif self._thoughts.is_unclosed and not ending.truncated:
            self.fail(FailureClass.INCOMPLETE, "unclosed_thoughts")
        else:
            self.ending = StreamEnding(failure=None, truncated=ending.truncated)

    def _of_body(self, body: bytes) -> str:
        """The body of a 200 that held no event at all."""
        said: list[str] = []
        found = classify.parse_json(body)
        if isinstance(found, dict) and not classify.is_error(found):
            self.whole(found, said)
        if self.ending is None:
            verdict = classify.classify_body(body)
            self.fail(verdict.failure, verdict.code)
        return self._shown("".join(said))


def _is_visible(text: str) -> bool:
    """Whether a person would see anything: spaces, controls and zero-width characters are nothing."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text)


def tokens(part: Any, *names: str) -> int | None:
    """The sum of these counts of a usage object; None if the first is missing or one is no count."""
    if not isinstance(part, dict):
        return None
    counts = [part.get(name) for name in names]
    counts = [counts[0], *(count or 0 for count in counts[1:])]
    whole = [count for count in counts if type(count) is int and 0 <= count < MOST_TOKENS]
    return sum(whole) if len(whole) == len(counts) else None
