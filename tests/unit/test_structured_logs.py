"""Log lines as documents and as entries of the journal: events, typed fields, references, and no text of others."""

import asyncio
import contextlib
import json
import logging
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion.log_references import bind_references, copy_references, get_references
from ops.project.structured_logs import JournalHandler, StructuredFormatter

SECRET = "what Rosa wrote"


def make_record(
    message: str, *values: object, logger: str = "companion.running_turn", level: int = logging.INFO
) -> logging.LogRecord:
    return logging.LogRecord(logger, level, "here", 7, message, values, None)


def format_json(record: logging.LogRecord) -> dict[str, object]:
    line = StructuredFormatter().format(record)
    assert "\n" not in line
    document: dict[str, object] = json.loads(line)
    return document


def test_a_line_becomes_a_document_with_its_event_and_its_fields_as_they_are() -> None:
    document = format_json(make_record("turn.ended turn=%d state=%s wait_s=%.1f", 42, "paused", 0.25))

    assert document["event"] == "turn.ended"
    assert (document["turn"], document["state"], document["wait_s"]) == (42, "paused", 0.25)
    assert (document["level"], document["logger"]) == ("info", "companion.running_turn")
    assert document["message"] == "turn.ended turn=42 state=paused wait_s=0.2"
    assert str(document["at"]).endswith("+00:00")


def test_a_line_of_a_library_has_the_event_of_all_such_lines() -> None:
    document = format_json(make_record("consumer: Connected to %s, twice=%d", "redis", 2, logger="celery"))

    assert document["event"] == "log.line"
    assert "twice" not in document and document["message"] == "consumer: Connected to redis, twice=2"


def test_a_field_does_not_take_the_place_of_what_every_line_has() -> None:
    document = format_json(make_record("web.odd level=%d", 3))

    assert (document["level"], document["level_"]) == ("info", 3)


def test_an_exception_is_its_class_and_places_and_never_its_text() -> None:
    try:
        raise ValueError(SECRET)
    except ValueError as failure:
        record = make_record("Exception inside application: %s", failure, logger="daphne.server")
        record.exc_info = sys.exc_info()
    document = format_json(record)

    assert SECRET not in json.dumps(document)
    assert "ValueError" in str(document["exception"]) and "test_structured_logs.py" in str(
        document["exception"]
    )


async def test_a_task_names_what_it_is_about_and_inherits_only_that() -> None:
    async def read() -> dict[str, object]:
        return format_json(make_record("breakers.changed lane=%s", "primary"))

    bind_references(request="abc")
    turn = await asyncio.create_task(read(), context=copy_references(turn=42))

    assert (turn["request"], turn["turn"], turn["lane"]) == ("abc", 42, "primary")
    assert get_references() == {"request": "abc"}


def read_entry(datagram: bytes) -> dict[str, str]:
    """The fields of one entry, as the journal reads them."""
    entry: dict[str, str] = {}
    while datagram:
        line, datagram = datagram.split(b"\n", 1)
        name, is_short, value = line.partition(b"=")
        if not is_short:
            size = int.from_bytes(datagram[:8], "little")
            value, datagram = datagram[8 : 8 + size], datagram[9 + size :]
        entry[name.decode()] = value.decode()
    return entry


def test_an_entry_of_the_journal_has_a_field_for_each_value(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(tmp_path / "journal"))
        journal.settimeout(5)
        handler = JournalHandler(tmp_path / "journal")
        handler.emit(make_record("turn.ended turn=%d state=%s", 42, "paused", level=logging.WARNING))
        first = read_entry(journal.recv(65_536))
        record = make_record("socket.failed cause=%s", "KeyError", level=logging.ERROR)
        record.exc_info = (KeyError, KeyError(SECRET), None)
        handler.emit(record)
        second = read_entry(journal.recv(65_536))
        handler.close()

    assert first["COMPANION_EVENT"] == "turn.ended" and first["COMPANION_TURN"] == "42"
    assert (first["PRIORITY"], first["MESSAGE"]) == ("4", "turn.ended turn=42 state=paused")
    assert second["PRIORITY"] == "3" and second["COMPANION_EXCEPTION"].strip() == "KeyError"


def test_a_line_with_bytes_that_are_no_letters_reaches_the_journal(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(tmp_path / "journal"))
        journal.settimeout(5)
        handler = JournalHandler(tmp_path / "journal")
        handler.emit(make_record("files.kept name=%s", b"\xff".decode(errors="surrogateescape")))
        entry = read_entry(journal.recv(65_536))
        handler.close()

    assert entry["COMPANION_NAME"] == r"\udcff"


def test_a_journal_that_stalls_holds_no_line_up_and_is_told_how_many_were_dropped(tmp_path: Path) -> None:
    logger = logging.getLogger("ops.project.structured_logs")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(tmp_path / "journal"))
        journal.setblocking(False)
        handler = JournalHandler(tmp_path / "journal")
        logger.addHandler(handler)
        try:
            for number in range(5_000):
                logger.warning("turn.ended turn=%d", number)
            arrived = list(read_entries(journal))
            logger.warning("turn.ended turn=%d", 5_000)
            later = list(read_entries(journal))
        finally:
            logger.removeHandler(handler)
            handler.close()

    assert [entry["COMPANION_TURN"] for entry in arrived] == [str(number) for number in range(len(arrived))]
    assert [entry["MESSAGE"] for entry in later] == [
        "turn.ended turn=5000",
        f"log.dropped lines={5_000 - len(arrived)}",
    ]


def read_entries(journal: socket.socket) -> Iterator[dict[str, str]]:
    """What has arrived and was not read."""
    with contextlib.suppress(BlockingIOError):
        while True:
            yield read_entry(journal.recv(65_536))


def test_without_a_journal_a_line_still_goes_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = JournalHandler(tmp_path / "none")
    handler.emit(make_record("turn.ended turn=%d", 42))
    handler.close()

    assert json.loads(capsys.readouterr().err)["turn"] == 42
