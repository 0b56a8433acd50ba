"""Log lines as JSON and as entries of the systemd journal, with stable event names and typed fields.

A message here begins with its event, and its fields follow: `turn.ended turn=%d state=%s`. So the fields are taken from
the message and its arguments, and no line is written twice. `ops/reference/log.md` lists all of them.
"""

import json
import logging
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from companion.log_references import get_references
from ops.project.logs import DiscreetFormatter

log = logging.getLogger(__name__)

OTHER_EVENT = "log.line"
"""The event of a line whose message does not begin with one, such as a library's."""
EVENT = re.compile(r"[a-z_]+\.[a-z_]+(?= |$)")
_PLACEHOLDER = re.compile(r"(?:(\w+)=)?%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]")

JOURNAL = Path("/run/systemd/journal/socket")
_SYSLOG_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))


def parse_event(record: logging.LogRecord) -> tuple[str, Mapping[str, Any]]:
    """The event of a record, and its fields: numbers as they are, everything else as text."""
    template = str(record.msg)
    found = EVENT.match(template)
    if found is None:
        return OTHER_EVENT, {}
    values = record.args if isinstance(record.args, tuple) else ()
    fields = {
        name: value if isinstance(value, int | float) else str(value)
        for name, value in zip(parse_placeholders(template), values, strict=False)
        if name
    }
    return found[0], fields


def parse_placeholders(template: str) -> list[str]:
    """The name before each place for a value, such as `turn` for `turn=%d`; empty where there is none."""
    return [match[1] or "" for match in _PLACEHOLDER.finditer(template.replace("%%", ""))]


class StructuredFormatter(DiscreetFormatter):
    """Formats a record as one line of JSON: `at`, `level`, `logger`, `event`, `message`, references, fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. An exception is `exception`: its class, and the places that it passed through."""
        return json.dumps(self.build_document(record), ensure_ascii=False, default=str)

    def build_document(self, record: logging.LogRecord) -> dict[str, Any]:
        """The same as a mapping."""
        record = self.make_discreet(record)
        event, fields = parse_event(record)
        document = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": os.getpid(),
            "event": event,
            "message": record.getMessage(),
            **get_references(),
            **{_own_name(name): value for name, value in fields.items()},
        }
        if record.exc_info and record.exc_info[0] is not None:
            document["exception"] = self.formatException(record.exc_info)
        return document


class JournalHandler(logging.Handler):
    """Sends records to the systemd journal, with a field for each reference and each value of the message.

    `journalctl COMPANION_EVENT=turn.ended COMPANION_TURN=42` finds a turn. Without a journal, lines go to stderr.
    A journal that stalls holds no process up: lines are dropped, and the next one that arrives says how many.
    """

    def __init__(self, address: str | os.PathLike[str] = JOURNAL) -> None:
        super().__init__()
        self._address = os.fspath(address)
        self._structured = StructuredFormatter()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._dropped = 0
        self._reported = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record. Never raises."""
        try:
            document = self._structured.build_document(record)
        except Exception:
            self.handleError(record)
            return
        try:
            self._socket.sendto(b"".join(_encode_fields(document, record.levelno)), self._address)
        except BlockingIOError:
            # stderr may lead to the same journal, and block.
            self._dropped += 1
            return
        except OSError:
            sys.stderr.write(json.dumps(document, default=str) + "\n")
            return
        if self._reported < self._dropped:
            self._reported = self._dropped
            # Of the whole process: if this line is dropped too, a later one says all the same.
            log.warning("log.dropped lines=%d", self._dropped)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
        super().close()


def _own_name(name: str) -> str:
    # A field of the message must not take the place of what every line has.
    return f"{name}_" if name in {"at", "level", "logger", "pid", "event", "message", "exception"} else name


def _encode_fields(document: Mapping[str, Any], level: int) -> Iterator[bytes]:
    """The fields as the journal reads them. A value of several lines is given its length."""
    priority = next((code for least, code in _SYSLOG_PRIORITIES if level >= least), 7)
    yield f"PRIORITY={priority}\n".encode()
    for name, value in document.items():
        key = "MESSAGE" if name == "message" else f"COMPANION_{name.upper()}"
        text = str(value).encode(errors="backslashreplace")
        if b"\n" in text:
            yield key.encode() + b"\n" + len(text).to_bytes(8, "little") + text + b"\n"
        else:
            yield key.encode() + b"=" + text + b"\n"
