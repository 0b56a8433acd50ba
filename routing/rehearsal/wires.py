"""The wires the rehearsal provider speaks, by the path they are asked at."""

from typing import Any, Protocol

from routing.rehearsal import wire_anthropic, wire_openai


class Wire(Protocol):
    """One answer's bytes: what is said goes in, events come out."""

    content_type: str
    bad_request: str
    """The error shape for a request that makes no sense."""

    def __init__(self, *, reference: str, model: str, created: int) -> None: ...
    def opening(self) -> bytes: ...
    def words(self, text: str, *, escaped: bool = False) -> bytes: ...
    def refusal(self, text: str) -> bytes: ...
    def reasoning(self, text: str) -> bytes: ...
    def finish(self, reason: str | None, *, text: str | None = None) -> bytes: ...
    def usage(self) -> bytes: ...
    def done(self) -> bytes: ...
    def ping(self) -> bytes: ...
    def odd(self, name: str) -> bytes: ...
    def error(self, body: bytes, *, event: str) -> bytes: ...
    def whole(self, text: str, reason: str | None) -> bytes: ...


WIRES: dict[str, type[Wire]] = {
    wire_openai.PATH: wire_openai.OpenAIWire,
    wire_anthropic.PATH: wire_anthropic.AnthropicWire,
}


def read_request(path: str, headers: dict[str, str], body: Any) -> list[tuple[str, str]]:
    """The messages as (role, text), the character's first. Raises ValueError, LookupError or TypeError if it is wrong.

    Strict where the real one is: on the messages wire the character stands beside the messages, which alternate and
    begin with the user; the length limit and the version have to be named.
    """
    messages = [(str(one["role"]), _text(one["content"])) for one in body["messages"]]
    if path != wire_anthropic.PATH:
        return messages
    roles = [role for role, _ in messages]
    if roles != (["user", "assistant"] * len(roles))[: len(roles)] or not roles:
        raise ValueError("roles must alternate and begin with the user")
    if "anthropic-version" not in headers or type(body["max_tokens"]) is not int:
        raise ValueError("a version and a length limit are needed")
    system = body.get("system")
    return messages if system is None else [("system", _text(system)), *messages]


def _text(content: Any) -> str:
    """A message's text, whether it is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")
