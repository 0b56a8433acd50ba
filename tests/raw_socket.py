"""A WebSocket without a library, for misbehaving clients: floods, and clients that never read."""

import base64
import os
import socket
import struct
import threading
from types import TracebackType
from urllib.parse import urlsplit

TEXT, CLOSE, PING = 1, 8, 9
MASK = b"\0\0\0\0"


def frame(payload: bytes, kind: int = TEXT) -> bytes:
    """Encode a final, masked frame."""
    length = len(payload)
    if length < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | length)
    elif length < 65_536:
        head = struct.pack("!BBH", 0x80 | kind, 0xFE, length)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0xFF, length)
    return head + MASK + payload


class RawSocket:
    """One upgraded connection with this cookie. A context manager; each call blocks for at most `limit_s` seconds."""

    def __init__(self, socket_url: str, cookie: str, *, limit_s: float = 30, receive_buffer: int = 0) -> None:
        parts = urlsplit(socket_url)
        self.connection = socket.socket()
        if receive_buffer:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.connection.settimeout(limit_s)
        self.connection.connect((parts.hostname, parts.port))
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {parts.path} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Origin: http://{parts.netloc}",
            f"Cookie: companion={cookie}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        ]
        self.connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self._received = b""
        while b"\r\n\r\n" not in self._received:
            self._received += self.connection.recv(1)
        self.status = int(self._received.split(b" ", 2)[1])
        self._received = b""

    def __enter__(self) -> "RawSocket":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def next(self) -> tuple[int, bytes]:
        """Read the next frame; returns its opcode and payload."""
        length = self._receive(2)[1]
        head = self._received[:2]
        if length == 126:
            (length,) = struct.unpack("!H", self._receive(4)[2:])
            head = self._received[:4]
        elif length == 127:
            (length,) = struct.unpack("!Q", self._receive(10)[2:])
            head = self._received[:10]
        whole = self._receive(len(head) + length)
        self._received = self._received[len(whole) :]
        return whole[0] & 15, whole[len(head) :]

    def close_code(self) -> int:
        """Read on until the server closes; returns the code, or 1006 without a close frame."""
        try:
            while True:
                kind, payload = self.next()
                if kind == CLOSE:
                    (code,) = struct.unpack("!H", payload[:2])
                    return int(code)
        except OSError:
            return 1006

    def _receive(self, length: int) -> bytes:
        while len(self._received) < length:
            more = self.connection.recv(65_536)
            if not more:
                raise ConnectionResetError
            self._received += more
        return self._received[:length]


class Flood:
    """Sends the same bytes over a socket as fast as possible in a thread, until the socket is closed."""

    def __init__(self, raw: RawSocket, content: bytes) -> None:
        self._raw = raw
        self._content = content
        self.sent_bytes = 0
        self.code = 0
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def start(self) -> "Flood":
        self._sender.start()
        self._reader.start()
        return self

    def join(self, limit_s: float) -> None:
        """Wait until the server has closed; `code` then holds the close code."""
        self._reader.join(limit_s)
        assert not self._reader.is_alive(), "the server never closed"
        self._raw.connection.close()
        self._sender.join(limit_s)

    def _send(self) -> None:
        try:
            while not self.code:
                self._raw.connection.sendall(self._content)
                self.sent_bytes += len(self._content)
        except OSError:
            pass

    def _read(self) -> None:
        self.code = self._raw.close_code()
