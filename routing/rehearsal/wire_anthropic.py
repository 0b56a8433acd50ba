"""PURE. The messages wire as the rehearsal provider speaks it: blocks within a message, each event named."""

import json
from typing import Any

PATH = "/v1/messages"
_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
"""The faults name the ordinary ends as chat-completions does; any other word goes out to the letter."""


class AnthropicWire:
    """One answer's bytes. Opens and closes its blocks as they are needed; see `wire_openai.OpenAIWire`."""

    content_type = "text/event-stream; charset=utf-8"
    bad_request = "anthropic_invalid"

    def __init__(self, *, reference: str, model: str, created: int) -> None:
        self._message: dict[str, Any] = {
            "id": f"msg_{reference}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        self._block: str | None = None
        self._index = -1
        self._refused = False

    def opening(self) -> bytes:
        return self._event("message_start", message=self._message) + self.ping()

    def words(self, text: str, *, escaped: bool = False) -> bytes:
        return self._within("text") + self._delta({"type": "text_delta", "text": text}, escaped=escaped)

    def refusal(self, text: str) -> bytes:
        self._refused = True
        return self.words(text)

    def reasoning(self, text: str) -> bytes:
        return self._within("thinking") + self._delta({"type": "thinking_delta", "thinking": text})

    def finish(self, reason: str | None, *, text: str | None = None) -> bytes:
        said = self.words(text) if text is not None else b""
        stop_reason = _REASONS.get(reason, reason) if reason is not None else None
        if self._refused and stop_reason == "end_turn":
            stop_reason = "refusal"
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        return (
            said + self._end_block() + self._event("message_delta", delta=delta, usage={"output_tokens": 1})
        )

    def usage(self) -> bytes:
        # It came with `message_delta` already; a ping may stand anywhere.
        return self.ping()

    def done(self) -> bytes:
        return self._event("message_stop")

    def ping(self) -> bytes:
        return self._event("ping")

    def odd(self, name: str) -> bytes:
        """Odd but lawful events of this wire, by the name the fault has for them; none for those it cannot send."""
        match name:
            case "empty_choices":
                delta = {"stop_reason": None, "stop_sequence": None}
                return self._event("message_delta", delta=delta, usage={"output_tokens": 0})
            case "no_delta":
                return self._event("content_block_delta", index=self._index)
            case "null_content":
                return self.words("") + self._delta({"type": "text_delta", "text": None}) + self._delta({})
            case "reasoning":
                signature = self._delta({"type": "signature_delta", "signature": "c2ln"})
                return self.reasoning("hm") + signature
        return b""

    def error(self, body: bytes, *, event: str) -> bytes:
        """An error inside the stream: as this wire sends it, or in the field a popular server has used."""
        start = b"error: " if event == "error_field" else b"event: error\ndata: "
        return start + body.replace(b"\n", b" ") + b"\n\n"

    def whole(self, text: str, reason: str | None) -> bytes:
        stop = _REASONS.get(reason, reason) if reason is not None else None
        body = {**self._message, "content": [{"type": "text", "text": text}], "stop_reason": stop}
        return json.dumps(body).encode()

    def _within(self, kind: str) -> bytes:
        """Open a block of this kind, if another or none is open."""
        if self._block == kind:
            return b""
        ended = self._end_block()
        self._block, self._index = kind, self._index + 1
        block = {"type": "text", "text": ""}
        if kind == "thinking":
            block = {"type": "thinking", "thinking": "", "signature": ""}
        return ended + self._event("content_block_start", index=self._index, content_block=block)

    def _end_block(self) -> bytes:
        if self._block is None:
            return b""
        self._block = None
        return self._event("content_block_stop", index=self._index)

    def _delta(self, delta: dict[str, Any], *, escaped: bool = False) -> bytes:
        return self._event("content_block_delta", escaped=escaped, index=self._index, delta=delta)

    def _event(self, name: str, *, escaped: bool = False, **fields: Any) -> bytes:
        # Half surrogate pairs exist as JSON escapes alone.
        data = json.dumps({"type": name, **fields}, ensure_ascii=escaped)
        return f"event: {name}\ndata: {data}\n\n".encode()
