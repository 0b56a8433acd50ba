"""Typed arguments are checked before they are used: no traceback, and nothing is done."""

import os

import pytest
from django.core.management.base import CommandError

from companion.models import Ceiling
from ops import names
from ops.models import AuditEntry, SelectionRow
from ops.people.command import parse
from tests.people import in_database
from tests.prefork import prefork
from tests.processes import Web

NOT_UTF8 = b"Ros\xe9"
LONG = b"x" * 201
COMMANDS = [
    [b"transcript", NOT_UTF8],
    [b"transcript", b""],
    [b"transcript", LONG],
    [b"transcript", b"Rosa", b"--site", NOT_UTF8],
    [b"transcript", b"Rosa", b"--by", NOT_UTF8],
    [b"ceiling", b"5", b"--by", NOT_UTF8, b"--reason", b"x"],
    [b"ceiling", b"5", b"--by", b"Ines", b"--reason", NOT_UTF8],
    [b"ceiling", b"--default", b"--by", b"Ines", b"--reason", LONG],
    [b"route", b"select", NOT_UTF8, b"--by", b"Ines", b"--reason", b"x"],
    [b"route", b"select", b"pin_second", b"--by", NOT_UTF8, b"--reason", b"x", b"--yes"],
    [b"route", b"revert", b"--by", b"Ines", b"--reason", NOT_UTF8],
    [b"rehearse_outage", b"--address", b"http://127.0.0.1:9", b"--site", NOT_UTF8],
]


@pytest.mark.parametrize(
    "typed", COMMANDS, ids=lambda typed: b" ".join(typed).decode("ascii", "replace")[:60]
)
def test_what_cannot_be_read_is_refused_in_a_sentence_and_nothing_is_done(
    service: Web, typed: list[bytes]
) -> None:
    def rows() -> tuple[int, int, int]:
        counted = (Ceiling, SelectionRow, AuditEntry)
        first, second, third = (in_database(model.objects.count) for model in counted)
        return first, second, third

    before = rows()
    # As Python itself reads its arguments.
    done = prefork.run(["manage.py", *map(os.fsdecode, typed)])
    said = done.stderr

    assert done.returncode == (2 if typed[0] == b"rehearse_outage" else 1), said
    assert "Traceback" not in said and "CommandError" in said
    assert rows() == before


def test_a_reason_and_a_name_are_kept_as_they_read() -> None:
    assert parse(names.clean_reason, "  A group   session ") == "A group session"
    with pytest.raises(CommandError, match="Say why"):
        parse(names.clean_reason, None)
