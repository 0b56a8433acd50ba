"""Events of both wires in bytes, and reading them as the caller of an adapter does."""

import json
from typing import Any

from routing.adapters.ending import StreamEnding
from routing.adapters.reader import StreamReader


def chat_event(delta: dict[str, Any], finish: Any = None, **beside: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **beside}).encode() + b"\n\n"


def chat_words(text: str) -> bytes:
    return chat_event({"content": text})


CHAT_STOP = chat_event({}, "stop")


def message_event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def message_words(text: str) -> bytes:
    return message_event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def message_stop(reason: Any = "end_turn") -> bytes:
    return message_event("message_delta", delta={"stop_reason": reason})


def read_by(reader: StreamReader, *pieces: bytes) -> tuple[str, StreamEnding | None]:
    """All text and the ending, as a caller of the adapter would get them."""
    text = ""
    for piece in pieces:
        text += reader.feed(piece)
        if reader.ending is not None:
            return text, reader.ending
    text += reader.close()
    return text, reader.ending
