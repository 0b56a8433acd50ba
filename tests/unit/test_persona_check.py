"""A persona file that cannot be used is an error before anything starts, and a command says what to mend."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import override_settings
from django.utils.timezone import localdate

from ops.checks import persona_is_whole
from personas.languages import language_path
from personas.load import DEFAULT

WHOLE = DEFAULT.read_text(encoding="utf-8")


def written(folder: Path, text: str) -> Path:
    path = folder / "rowan.toml"
    path.write_text(text, encoding="utf-8")
    language_path(path, "es").write_bytes(language_path(DEFAULT, "es").read_bytes())
    return path


def reviewed_by(day: object) -> str:
    assert WHOLE.count("review_by = 2027-03-31") == 1
    return WHOLE.replace("review_by = 2027-03-31", f"review_by = {day}")


def checked(path: Path) -> list[tuple[str | None, str]]:
    with override_settings(COMPANION_PERSONA=path):
        return [(message.id, message.msg) for message in persona_is_whole(None)]


def test_a_missing_file_is_companion_e001(tmp_path: Path) -> None:
    path = tmp_path / "missing.toml"

    assert checked(path) == [
        (
            "companion.E001",
            f"{path}: there is no such file. To mend it: put the persona file there, or name another.",
        )
    ]


def test_a_whole_file_that_was_read_again_in_time_is_no_message(tmp_path: Path) -> None:
    assert checked(written(tmp_path, reviewed_by(localdate()))) == []


def test_a_review_date_that_has_passed_is_companion_w001(tmp_path: Path) -> None:
    yesterday = localdate() - timedelta(days=1)

    [(number, message)] = checked(written(tmp_path, reviewed_by(yesterday)))

    assert number == "companion.W001"
    assert str(yesterday) in message


def test_the_command_passes_the_file_and_the_pages_that_ship() -> None:
    said = StringIO()

    call_command("check_persona", stdout=said)

    assert said.getvalue().startswith("Robin (en), version ")
    assert "Robin (es), version " in said.getvalue()


def test_the_command_names_every_fault_of_a_broken_file(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE.replace("\nqueued = ", "\nqeued = "))

    with pytest.raises(CommandError) as refused:
        call_command("check_persona", str(path))

    assert "lines.queued: is missing" in str(refused.value)
    assert "lines.qeued: is not a key" in str(refused.value)
