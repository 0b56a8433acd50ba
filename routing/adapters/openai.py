"""Chat-completions: OpenAI, and everyone who speaks its wire (vLLM, Ollama, llama.cpp, the rehearsal provider)."""

import json
import unicodedata
from typing import Any

from routing import classify, sse
from routing.adapters.base import Ending, HttpAdapter
from routing.contracts import Ask, Lane
from routing.errors import FailureClass
from routing.mend import Mender

_BODY_KEPT = 256 * 1024
"""Bytes kept while no event has been seen: the body may turn out to be no stream at all."""
_FINISHES = {
    "stop": Ending(failure=None),
    "length": Ending(failure=None, truncated=True),
    "content_filter": Ending(failure=FailureClass.REFUSED, code="content_filter"),
}


class OpenAIAdapter(HttpAdapter):
    """The adapter of chat-completions."""

    def url(self, lane: Lane) -> str:
        return lane.base_url.rstrip("/") + "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def body(self, lane: Lane, ask: Ask) -> bytes:
        messages = [{"role": message.role, "content": message.text} for message in ask.messages]
        sent = {"model": lane.model, "messages": messages, "stream": True, lane.limit_field: ask.max_tokens}
        return json.dumps(sent).encode()

    def reader(self) -> "ChatReader":
        return ChatReader()


class ChatReader:
    """PURE. Reads one streamed chat completion. See `routing.adapters.base.Reader`."""

    def __init__(self) -> None:
        self.ending: Ending | None = None
        self.reasoned = False
        self.model: str | None = None
        self._decoder = sse.Decoder()
        self._mender = Mender()
        self._body: bytearray | None = bytearray()
        self._leading = ""
        self._visible = False
        self._refused = False

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
            text += self._whole(bytes(self._body))
        if self.ending is None:
            self._fail(FailureClass.INCOMPLETE, "no_finish")
        return text

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
            self._fail(FailureClass.INCOMPLETE, "done_without_finish")
            return
        if event.name not in ("message", "error") or not event.data.strip():
            return
        chunk = classify.parsed(event.data)
        if event.name == "error" or classify.is_error(chunk):
            verdict = classify.from_object(chunk)
            self._fail(verdict.failure, verdict.code)
        elif isinstance(chunk, dict):
            self._chunk(chunk, said)
        elif chunk is None:
            self._fail(FailureClass.INCOMPLETE, "malformed")

    def _chunk(self, chunk: dict[str, Any], said: list[str]) -> None:
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            # A whole answer from a server that ignored `stream` has a message where a stream has deltas.
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                self._delta(delta, said)
            reason = choice.get("finish_reason")
            # Some servers send an empty reason with every chunk. It ends nothing, and proves nothing.
            if reason is not None and reason != "":
                model = chunk.get("model")
                self.model = model[:200] if isinstance(model, str) and model.isprintable() else None
                self._finish(reason, said)
                return

    def _delta(self, delta: dict[str, Any], said: list[str]) -> None:
        content = delta.get("content")
        if isinstance(content, str):
            said.append(content)
        elif isinstance(content, list):
            texts = [
                part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
            ]
            said += [text for text in texts if isinstance(text, str)]
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            said.append(refusal)
            self._refused = True
        if delta.get("reasoning_content") or delta.get("reasoning") or delta.get("reasoning_details"):
            self.reasoned = True

    def _finish(self, reason: Any, said: list[str]) -> None:
        ending = _FINISHES.get(reason) if isinstance(reason, str) else None
        if ending is None:
            ending = Ending(
                failure=FailureClass.INCOMPLETE, code=classify.short_code(reason) or "unknown_finish"
            )
        elif ending.failure is None and self._refused:
            ending = Ending(failure=FailureClass.REFUSED, code="refusal")
        elif ending.failure is None and not (self._visible or _is_visible("".join(said))):
            ending = Ending(failure=FailureClass.EMPTY, code=reason)
        self.ending = ending

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

    def _whole(self, body: bytes) -> str:
        """The body of a 200 that held no event at all."""
        said: list[str] = []
        found = classify.parsed(body)
        if isinstance(found, dict) and not classify.is_error(found):
            self._chunk(found, said)
        if self.ending is None:
            verdict = classify.from_body(body)
            self._fail(verdict.failure, verdict.code)
        return self._shown("".join(said))

    def _fail(self, failure: FailureClass, code: str | None) -> None:
        self.ending = Ending(failure=failure, code=code)


def _is_visible(text: str) -> bool:
    """Whether a person would see anything: spaces, controls and zero-width characters are nothing."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text)
