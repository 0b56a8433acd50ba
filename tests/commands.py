"""Commands as an operator types them, run in the process of the tests."""

import io

import pytest
from django.core.management import CommandError, call_command

from ops.models import AuditEntry
from tests.people import in_database

BY = ("--by", "Ines")


def run(*arguments: str) -> str:
    """Run a command; returns what it printed."""
    said = io.StringIO()
    in_database(lambda: call_command(*arguments, stdout=said, stderr=io.StringIO()))
    return said.getvalue()


def run_lines(*arguments: str) -> list[str]:
    """Run a command; returns the lines that it printed."""
    return run(*arguments).splitlines()


def refused(*arguments: str) -> str:
    """The sentence by which a command is refused. A refusal puts nothing on record."""
    before = in_database(AuditEntry.objects.count)
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    assert in_database(AuditEntry.objects.count) == before
    return str(refusal.value)
