"""Messages: the wire of Anthropic. Blocks within a message; errors and pings may come anywhere under status 200."""

import json
from typing import Any

from routing.adapters.base import HttpAdapter
from routing.adapters.reader import StreamReader, tokens
from routing.contracts import Ask, Lane, Usage
from routing.errors import FailureClass

VERSION = "2023-06-01"
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Together they are what was sent."""
_EVENTS = frozenset(
    {
        "message",
        "error",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "message_stop",
    }
)


class AnthropicAdapter(HttpAdapter):
    def url(self, lane: Lane) -> str:
        return lane.base_url.rstrip("/") + "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        version = {"anthropic-version": VERSION}
        return version if key is None else version | {"x-api-key": key}

    def body(self, lane: Lane, ask: Ask) -> bytes:
        # Here the character stands beside the messages, which begin with the user.
        system = "\n\n".join(message.text for message in ask.messages if message.role == "system")
        messages = [
            {"role": message.role, "content": message.text}
            for message in ask.messages
            if message.role != "system"
        ]
        sent: dict[str, Any] = {
            "model": lane.model,
            "max_tokens": ask.max_tokens,
            "messages": messages,
            "stream": True,
        }
        if system:
            sent["system"] = system
        return json.dumps(sent).encode()

    def reader(self) -> "MessagesReader":
        return MessagesReader()


class MessagesReader(StreamReader):
    """PURE. Reads one streamed message."""

    def __init__(self) -> None:
        super().__init__()
        self._input_tokens: int | None = None
        self._began_with = ""
        """Text that came with the start of a block: some servers send it once more as the first delta."""

    def concerns(self, found: dict[str, Any]) -> bool:
        return found.get("type") in _EVENTS

    def reads(self, name: str) -> bool:
        return name in _EVENTS

    def object(self, found: dict[str, Any], said: list[str]) -> None:
        match found.get("type"):
            case "message_start":
                message = _part(found, "message")
                self.named(message.get("model"))
                self._input_tokens = tokens(message.get("usage"), *_INPUT)
            case "content_block_start":
                self._began_with = self._block(_part(found, "content_block"), said)
            case "content_block_delta":
                self._block(_part(found, "delta"), said, began_with=self._began_with)
                self._began_with = ""
            case "message_delta":
                self.count(found)
                self._stopped(_part(found, "delta").get("stop_reason"))
            case "message_stop":
                # The reason comes before it. Without one this proves as little as the end of the body.
                self.fail(FailureClass.INCOMPLETE, "stop_without_reason")

    def count(self, found: dict[str, Any]) -> None:
        told = found.get("usage")
        read, written = tokens(told, *_INPUT), tokens(told, "output_tokens")
        read = self._input_tokens if read is None else read
        if read is not None and written is not None:
            # Counted from the start of the message, each time.
            self.usage = Usage(input_tokens=read, output_tokens=written)

    def whole(self, found: dict[str, Any], said: list[str]) -> None:
        if found.get("type") != "message":
            return
        self.named(found.get("model"))
        self.count(found)
        content = found.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                self._block(block, said)
        self._stopped(found.get("stop_reason"))

    def _block(self, block: dict[str, Any], said: list[str], *, began_with: str = "") -> str:
        """Say the text of a block or a delta, and return it."""
        match block.get("type"):
            case "text" | "text_delta":
                text = block.get("text")
                if isinstance(text, str):
                    said.append(text.removeprefix(began_with) if len(began_with) > 1 else text)
                    return text
            case "thinking" | "thinking_delta" | "redacted_thinking" | "signature_delta":
                self.reasoned = True
        return ""

    def _stopped(self, reason: Any) -> None:
        if reason is not None:
            self.finish(reason)


def _part(found: dict[str, Any], key: str) -> dict[str, Any]:
    part = found.get(key)
    return part if isinstance(part, dict) else {}
