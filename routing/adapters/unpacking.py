"""PURE. Bodies that a server compressed although it was asked not to."""

import zlib

STEP = 64 * 1024
"""Bytes unpacked at once: a small body may hold a very large one."""
READ_LIMIT = 1024 * 1024
"""Bytes that one read may unpack to. More would keep every other reply waiting while it is looked through."""


class Unpacker:
    """Feed it the bytes of a body in order; it returns what they hold. Raises ValueError where they hold nothing."""

    def __init__(self, encoding: str) -> None:
        self._names = [name for name in (part.strip().lower() for part in encoding.split(",")) if name]
        if len(self._names) > 1 or not set(self._names) <= _WINDOWS.keys():
            raise ValueError("an encoding that was not asked for")
        self._inner = _inner(self._names[0])
        self._is_first = True
        self._total = 0

    def feed(self, data: bytes, *, limit: int) -> bytes:
        """What these bytes complete. ValueError once the whole body, or this read, holds too much."""
        unpacked = bytearray()
        try:
            while data:
                step = self._step(data)
                unpacked += step
                self._total += len(step)
                data = self._inner.unconsumed_tail or self._inner.unused_data
                if self._total > limit or len(unpacked) > READ_LIMIT:
                    raise ValueError("too large")
                if self._inner.eof:
                    # Another member may follow, as gzip has it.
                    self._inner = _inner(self._names[0])
        except zlib.error:
            raise ValueError("not what its header says") from None
        return bytes(unpacked)

    def _step(self, data: bytes) -> bytes:
        is_first, self._is_first = self._is_first, False
        try:
            return self._inner.decompress(data, STEP)
        except zlib.error:
            if self._names[0] != "deflate" or not is_first:
                raise
            # Half of the servers that say deflate leave its header out.
            self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._inner.decompress(data, STEP)


_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


def _inner(name: str) -> "zlib._Decompress":
    return zlib.decompressobj(_WINDOWS[name])


def unpacker_for(encoding: str | None) -> Unpacker | None:
    """What a `Content-Encoding` needs; None if nothing. Raises ValueError for one that nothing here can undo."""
    named = (encoding or "").strip().lower()
    return None if named in ("", "identity", "none") else Unpacker(named)
