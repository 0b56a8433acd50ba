"""PURE. The chat-completions wire as the rehearsal provider speaks it: words in, bytes out."""

import json
from typing import Any

PATH = "/v1/chat/completions"


class OpenAIWire:
    """One answer's bytes; see `wires.Wire`."""

    content_type = "text/event-stream; charset=utf-8"
    bad_request = "bad_request"

    def __init__(self, *, reference: str, model: str, created: int) -> None:
        self._head = {
            "id": f"chatcmpl-{reference}",
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        before, after = self._event({"index": 0, "delta": "@", "finish_reason": None}).split(b'"@"')
        self._before, self._after = before, after

    def opening(self) -> bytes:
        return self.delta({"role": "assistant", "content": ""})

    def delta(self, delta: dict[str, Any], *, escaped: bool = False) -> bytes:
        """One chunk with any delta; `escaped` keeps half surrogate pairs as JSON escapes."""
        body = json.dumps(delta, ensure_ascii=escaped)
        return self._before + body.encode("utf-8") + self._after

    def words(self, text: str, *, escaped: bool = False) -> bytes:
        return self.delta({"content": text}, escaped=escaped)

    def refusal(self, text: str) -> bytes:
        return self.delta({"refusal": text})

    def reasoning(self, text: str, *, field: str = "reasoning_content") -> bytes:
        return self.delta({"content": None, field: text})

    def finish(self, reason: str | None, *, text: str | None = None) -> bytes:
        delta = {"content": text} if text is not None else {}
        return self._event({"index": 0, "delta": delta, "finish_reason": reason})

    def usage(self) -> bytes:
        chunk = {**self._head, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    def done(self) -> bytes:
        return b"data: [DONE]\n\n"

    def ping(self) -> bytes:
        return b": keep-alive\n\n"

    def odd(self, name: str) -> bytes:
        """Odd but lawful events of this wire, by the name the fault has for them."""
        match name:
            case "empty_choices":
                return self.usage()
            case "no_delta":
                return self._event({"index": 0, "finish_reason": None})
            case "null_content":
                return self.delta({"content": None}) + self.delta({}) + self.words("")
            case "reasoning":
                details = {"content": "", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}
                return self.reasoning("hm") + self.reasoning("hm", field="reasoning") + self.delta(details)
        return b""

    def error(self, body: bytes, *, event: str) -> bytes:
        """An error object inside the stream, in one of the three ways servers have put it there."""
        start = {"data": b"data: ", "error_field": b"error: ", "named_event": b"event: error\ndata: "}[event]
        return start + body.replace(b"\n", b" ") + b"\n\n"

    def whole(self, text: str, reason: str | None) -> bytes:
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "message": message, "finish_reason": reason}]
        usage = {
            "prompt_tokens": 1,
            "completion_tokens": len(text.split()),
            "total_tokens": 1 + len(text.split()),
        }
        body = {**self._head, "object": "chat.completion", "choices": choices, "usage": usage}
        return json.dumps(body).encode()

    def _event(self, choice: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps({**self._head, "choices": [choice]}).encode() + b"\n\n"
