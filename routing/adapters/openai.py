"""Chat-completions: OpenAI, and everyone who speaks its wire (vLLM, Ollama, llama.cpp, the rehearsal provider)."""

import json
from typing import Any

from routing import classify
from routing.adapters.base import HttpAdapter
from routing.adapters.deltas import Deltas
from routing.adapters.finishing import ending_of
from routing.adapters.reader import StreamReader, tokens
from routing.contracts import Ask, Lane, Usage
from routing.errors import FailureClass


class OpenAIAdapter(HttpAdapter):
    """The adapter of chat-completions."""

    def url(self, lane: Lane) -> str:
        return lane.base_url.rstrip("/") + "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def body(self, lane: Lane, ask: Ask) -> bytes:
        messages = [{"role": message.role, "content": message.text} for message in ask.messages]
        sent: dict[str, Any] = {
            "model": lane.model,
            "messages": messages,
            "stream": True,
            lane.limit_field: ask.max_tokens,
        }
        if lane.usage == "asked":
            sent["stream_options"] = {"include_usage": True}
        return json.dumps(sent).encode()

    def reader(self) -> "ChatReader":
        return ChatReader()


class ChatReader(StreamReader):
    """PURE. Reads one streamed chat completion."""

    def __init__(self) -> None:
        super().__init__()
        self._deltas = Deltas()
        self._has_deltas = False
        self._refused = False
        self._speaks = False
        """A chunk with text and without a reason has come: the next reason is the end."""
        self._reason: Any = None
        self._reasons = 0
        """Chunks with this reason, while it may not be the end: some servers send it with every chunk."""

    def concerns(self, found: dict[str, Any]) -> bool:
        return isinstance(found.get("choices"), list)

    def object(self, found: dict[str, Any], said: list[str]) -> None:
        choices = found.get("choices")
        if not isinstance(choices, list):
            return
        self.count(found)
        for choice in choices:
            if isinstance(choice, dict) and choice.get("index") in (0, None, "0"):
                self._choice(choice, found, said)
                if self.ending is not None:
                    return
        if not choices and self._reasons:
            # The usage comes after everything that is said.
            self._end(self._reason, said)

    def count(self, found: dict[str, Any]) -> None:
        told = found.get("usage")
        read, written = tokens(told, "prompt_tokens"), tokens(told, "completion_tokens")
        if read is not None and written is not None:
            self.usage = Usage(input_tokens=read, output_tokens=written)

    def whole(self, found: dict[str, Any], said: list[str]) -> None:
        self.object(found, said)
        if self.ending is None:
            self.settle(said, is_proved=True)

    def settle(self, said: list[str], *, is_proved: bool) -> bool:
        if not self._reasons or (self._reasons > 1 and not is_proved):
            return False
        self._end(self._reason, said)
        return True

    def _choice(self, choice: dict[str, Any], found: dict[str, Any], said: list[str]) -> None:
        if isinstance(choice.get("error"), dict):
            verdict = classify.classify_object(choice)
            self.fail(verdict.failure, verdict.code)
            return
        reason = choice.get("finish_reason")
        # Some servers send an empty reason with every chunk. It ends nothing, and proves nothing.
        ends = reason is not None and reason != ""
        has_text = self._say(choice, said, is_last=ends)
        if not ends:
            if has_text:
                self._speaks, self._reasons = True, 0
                if not isinstance(found.get("usage"), dict):
                    # What was told before this text does not count it.
                    self.usage = None
            return
        self.named(found.get("model"))
        if self._speaks or ending_of(reason).failure is not None:
            self._end(reason, said)
        else:
            self._reason, self._reasons = reason, self._reasons + 1

    def _end(self, reason: Any, said: list[str]) -> None:
        said.append(self._deltas.close())
        self.finish(reason)
        if self._deltas.rewrites:
            self.fail(FailureClass.INCOMPLETE, "rewritten")
        elif self._refused and self.ending is not None and self.ending.failure is None:
            self.fail(FailureClass.REFUSED, "refusal")

    def _say(self, choice: dict[str, Any], said: list[str], *, is_last: bool) -> bool:
        """Say what is new in a choice; returns whether it holds any text at all."""
        delta, message = choice.get("delta"), choice.get("message")
        delta = delta if isinstance(delta, dict) else {}
        content = _text_of(delta.get("content"))
        if content:
            self._has_deltas = True
        elif isinstance(message, dict) and not self._has_deltas:
            # A whole answer from a server that ignored `stream` has a message where a stream has deltas. After
            # deltas the message is the same once more.
            delta = {**delta, **message}
            content = _text_of(delta.get("content"))
        if content:
            said.append(self._deltas.feed(content, is_last=is_last))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            said.append(refusal)
            self._refused = True
        if delta.get("reasoning_content") or delta.get("reasoning") or delta.get("reasoning_details"):
            self.reasoned = True
        return bool(content or refusal)


def _text_of(content: Any) -> str:
    """The text of a content, which may be in parts; what is thought in them is left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))
