"""PURE. Odd but lawful bytes: what a decoder must take in its stride."""

from collections.abc import Iterable

from routing.rehearsal.wires import Wire

_SAID = {
    "nul": " a\0b",
    "separators": " a\u2028b\u2029c\x85d\x0be",
    "split_utf8": " ✓ 👩🏽‍🚀 שלום",
}
_ESCAPED = {"lone_surrogate": (" \ud83c?",), "split_surrogate": (" \ud83c", "\udf0d")}
_BYTES = {
    "comments": b": a comment\n\n:\n\n",
    "unknown_events": b'event: telemetry\nid: 7\nretry: 10\ndata: {"not":"ours"}\n\nnonsense\n\ndata\n\n',
}


def odd_events(wire: Wire, odd: Iterable[str]) -> list[bytes]:
    """Events to slip in after the first word."""
    return [events for name in sorted(odd) if (events := _events(wire, name))]


def _events(wire: Wire, name: str) -> bytes:
    if name in _SAID:
        return wire.words(_SAID[name])
    if name in _ESCAPED:
        return b"".join(wire.words(half, escaped=True) for half in _ESCAPED[name])
    return _BYTES.get(name) or wire.odd(name)


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
