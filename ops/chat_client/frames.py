"""PURE. The client's side of the chat socket, version 1: its address, its headers and the frames a page sends."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

SOCKET_PATH = "/ws/chat/"
STAFF_SOCKET_PATH = "/ws/staff/"
ENDINGS = frozenset({"complete", "stopped", "paused", "refused"})
"""Types of the last frame of a turn."""
ACK_EVERY_SEQ = 10
"""A page acknowledges every tenth chunk."""


def socket_url(service: str, path: str = SOCKET_PATH) -> str:
    """A socket of a service, such as `http://127.0.0.1:8000`; by default the chat's."""
    return service.replace("http", "ws", 1) + path


def handshake_headers(url: str, session_key: str, *, cookie_name: str) -> dict[str, str]:
    """Headers that open the socket at `url` as a page of that service with this session."""
    parts = urlsplit(url)
    origin = f"{parts.scheme.replace('ws', 'http', 1)}://{parts.netloc}"
    return {"Cookie": f"{cookie_name}={session_key}", "Origin": origin}


def say(key: str, text: str) -> dict[str, Any]:
    """A message. The service stores it once for each `key`, however often it is sent."""
    return {"type": "say", "key": key, "text": text}


def stop(turn: int) -> dict[str, Any]:
    """End a reply early."""
    return {"type": "stop", "turn": turn}


def ack(words: Mapping[str, Any]) -> dict[str, Any]:
    """Acknowledge a `words` frame and all before it."""
    return {"type": "ack", "turn": words["turn"], "seq": words["seq"]}
