"""PURE. What the readers of all wires share: events out of bytes, and text held back until something is visible."""

import unicodedata
from dataclasses import dataclass
from typing import Any

from routing import classify, sse
from routing.error_facts import short_code
from routing.errors import FailureClass
from routing.mend import Mender

_BODY_KEPT = 256 * 1024
"""Bytes kept while no event has been seen: the body may turn out to be no stream at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a stream ended, as its wire understood it."""

    failure: FailureClass | None
    code: str | None = None
    truncated: bool = False


class StreamReader:
    """Reads one streamed answer; see `routing.adapters.base.Reader`. A wire says what its objects mean."""

    def __init__(self) -> None:
        self.ending: Ending | None = None
        self.reasoned = False
        self.model: str | None = None
        self._decoder = sse.Decoder()
        self._mender = Mender()
        self._body: bytearray | None = bytearray()
        self._leading = ""
        self._visible = False

    def object(self, found: dict[str, Any], said: list[str]) -> None:
        """One object of the stream, which is no error: append what is visible, and `finish` if it ends the reply."""
        raise NotImplementedError

    def whole(self, found: dict[str, Any], said: list[str]) -> None:
        """The same for a whole answer, from a server that ignored that a stream was asked for."""
        raise NotImplementedError

    def feed(self, data: bytes) -> str:
        self.reasoned = False
        try:
            events = self._decoder.feed(data)
        except sse.TooLarge:
            self.ending = Ending(failure=FailureClass.INCOMPLETE, code="too_large")
            return ""
        if self._body is not None:
            if events:
                self._body = None
            elif len(self._body) < _BODY_KEPT:
                self._body += data
        return self._read(events)

    def close(self) -> str:
        self.reasoned = False
        text = self._read(self._decoder.close())
        if self.ending is None and self._body is not None:
            text += self._of_body(bytes(self._body))
        if self.ending is None:
            self.fail(FailureClass.INCOMPLETE, "no_finish")
        return text

    def fail(self, failure: FailureClass, code: str | None) -> None:
        self.ending = Ending(failure=failure, code=code)

    def finish(self, ending: Ending | None, reason: Any, said: list[str]) -> None:
        """A terminal reason was seen; `ending` is None if nobody knows it. Nothing visible by now: empty."""
        if ending is None:
            self.fail(FailureClass.INCOMPLETE, short_code(reason) or "unknown_finish")
        elif ending.failure is None and not (self._visible or _is_visible("".join(said))):
            self.fail(FailureClass.EMPTY, short_code(reason))
        else:
            self.ending = ending

    def named(self, model: Any) -> None:
        """Who says it answers."""
        self.model = model[:200] if isinstance(model, str) and model.isprintable() else None

    def _read(self, events: list[sse.Event]) -> str:
        said: list[str] = []
        for event in events:
            self._event(event, said)
            if self.ending is not None:
                break
        return self._shown("".join(said))

    def _event(self, event: sse.Event, said: list[str]) -> None:
        if event.data == "[DONE]":
            # Some servers send it after an error and after an abort: it proves nothing.
            self.fail(FailureClass.INCOMPLETE, "done_without_finish")
            return
        if not self.reads(event.name) or not event.data.strip():
            return
        found = classify.parsed(event.data)
        if event.name == "error" or classify.is_error(found):
            verdict = classify.from_object(found)
            self.fail(verdict.failure, verdict.code)
        elif isinstance(found, dict):
            self.object(found, said)
        elif found is None:
            self.fail(FailureClass.INCOMPLETE, "malformed")

    def reads(self, name: str) -> bool:
        """Whether an event of this name concerns the reply. Others are passed over, whatever is in them."""
        return name in ("message", "error")

    def _shown(self, text: str) -> str:
        """Mend; keep blank text back until something visible comes, for nothing has been said before that."""
        text = self._mender.mend(text)
        if self.ending is not None:
            text += self._mender.close()
        if not text or self._visible:
            return text
        text = self._leading + text
        self._visible = _is_visible(text)
        self._leading = "" if self._visible else text[:10_000]
        return text if self._visible else ""

    def _of_body(self, body: bytes) -> str:
        """The body of a 200 that held no event at all."""
        said: list[str] = []
        found = classify.parsed(body)
        if isinstance(found, dict) and not classify.is_error(found):
            self.whole(found, said)
        if self.ending is None:
            verdict = classify.from_body(body)
            self.fail(verdict.failure, verdict.code)
        return self._shown("".join(said))


def _is_visible(text: str) -> bool:
    """Whether a person would see anything: spaces, controls and zero-width characters are nothing."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text)
