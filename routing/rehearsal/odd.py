"""PURE. Odd but lawful bytes: what a decoder must take in its stride."""

from collections.abc import Iterable

from routing.rehearsal.wire_openai import OpenAIWire


def odd_events(wire: OpenAIWire, odd: Iterable[str]) -> list[bytes]:
    """Events to slip in after the first word."""
    events = {
        "comments": b": a comment\n\n:\n\n",
        "unknown_events": b'event: telemetry\nid: 7\nretry: 10\ndata: {"not":"ours"}\n\nnonsense\n\ndata\n\n',
        "empty_choices": wire.usage(),
        "no_delta": wire.without_delta(),
        "null_content": wire.delta({"content": None}) + wire.delta({}) + wire.words(""),
        "lone_surrogate": wire.delta({"content": " \ud83c?"}, escaped=True),
        "split_surrogate": wire.delta({"content": " \ud83c"}, escaped=True)
        + wire.delta({"content": "\udf0d"}, escaped=True),
        "nul": wire.words(" a\0b"),
        "separators": wire.words(" a\u2028b\u2029c\x85d\x0be"),
        "split_utf8": wire.words(" ✓ 👩🏽‍🚀 שלום"),
        "reasoning": wire.reasoning("hm")
        + wire.reasoning("hm", field="reasoning")
        + wire.delta({"content": "", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
    }
    return [events[name] for name in sorted(odd) if name in events]


def transformed(events: bytes, odd: Iterable[str]) -> list[bytes]:
    """The same events with other line ends, or cut inside characters, as the writes to make."""
    if "cr" in odd:
        events = events.replace(b"\n", b"\r")
    elif "crlf" in odd:
        events = events.replace(b"\n", b"\r\n")
    if "split_utf8" not in odd or events.isascii():
        return [events]
    cuts = [at for at, byte in enumerate(events) if byte & 0xC0 == 0x80]
    return [events[a:b] for a, b in zip([0, *cuts], [*cuts, len(events)], strict=True)]
