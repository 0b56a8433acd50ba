"""Chat-completions: OpenAI, and everyone who speaks its wire (vLLM, Ollama, llama.cpp, the rehearsal provider)."""

import json
from typing import Any

from routing.adapters.base import HttpAdapter
from routing.adapters.reader import Ending, StreamReader
from routing.contracts import Ask, Lane
from routing.errors import FailureClass

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


class ChatReader(StreamReader):
    """PURE. Reads one streamed chat completion."""

    def __init__(self) -> None:
        super().__init__()
        self._refused = False

    def object(self, found: dict[str, Any], said: list[str]) -> None:
        choices = found.get("choices")
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
                self.named(found.get("model"))
                self._finished(reason, said)
                return

    def whole(self, found: dict[str, Any], said: list[str]) -> None:
        self.object(found, said)

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

    def _finished(self, reason: Any, said: list[str]) -> None:
        ending = _FINISHES.get(reason) if isinstance(reason, str) else None
        if self._refused and ending is not None and ending.failure is None:
            ending = Ending(failure=FailureClass.REFUSED, code="refusal")
        self.finish(ending, reason, said)
