"""People come by file: all of them or none, each once, and each line with its answer (A3, S5)."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from companion.models import Conversation, Participant
from ops.access import get_access
from ops.models import AuditEntry
from tests.commands import BY, refused, run, run_lines
from tests.patience import wait_until
from tests.people import People, in_database

HEAD = "role,name,sites,username,email\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.csv"


def list_names(people: People) -> list[str]:
    return in_database(
        lambda: sorted(Participant.objects.filter(site=people.site).values_list("name", flat=True))
    )


def write_both(file: Path, people: People) -> str:
    """A file with Rosa, and Kim who supervises both sites; returns Kim's username."""
    kim = f"kim-{people.password}"
    both = f"{people.site.slug} {people.elsewhere.slug}"
    file.write_text(
        f"{HEAD}participant,Rosa,{people.site.slug},,\nsupervisor,Kim,{both},{kim},kim@example.org\n"
    )
    return kim


def test_a_file_adds_its_people_once_with_their_rights_and_each_is_on_record(
    people: People, file: Path
) -> None:
    kim = write_both(file, people)
    passwords = file.with_name("passwords.csv")

    assert run_lines("people", "import", str(file), "--passwords", str(passwords), *BY)[-1].startswith(
        "Added: 2;"
    )

    user = in_database(lambda: User.objects.get(username=kim))
    [_, (name, password)] = csv.reader(io.StringIO(passwords.read_text()))
    assert passwords.stat().st_mode & 0o777 == 0o600
    assert name == kim and in_database(lambda: authenticate(username=kim, password=password)) == user
    access = in_database(lambda: get_access(user))
    assert access.supervised == {people.site.pk, people.elsewhere.pk} and not access.is_operator
    rosa = in_database(lambda: Participant.objects.get(site=people.site))
    assert in_database(lambda: Conversation.objects.filter(participant=rosa).exists())
    entries = in_database(lambda: list(AuditEntry.objects.order_by("-id")[:3]))
    assert [entry.what for entry in entries] == ["imported_people", "added_staff", "added_person"]
    assert entries[2].about == rosa.pk
    again = run_lines("people", "import", str(file), *BY)
    assert again[-1] == "Added: 0; there before: 2."
    assert list_names(people) == ["Rosa"]


def test_a_dry_run_says_what_an_import_would_do_and_stores_nothing(people: People, file: Path) -> None:
    kim = write_both(file, people)
    before = in_database(AuditEntry.objects.count)

    lines = run_lines("people", "check", str(file))

    assert lines[0] == f"line 2: added: Rosa at {people.site.name}"
    assert lines[-1] == "Nothing was changed. An import adds 2; there before: 0."
    assert list_names(people) == [] and in_database(AuditEntry.objects.count) == before
    assert not in_database(lambda: User.objects.filter(username=kim).exists())


def test_one_refused_line_keeps_the_whole_file_out_and_every_refused_line_is_named(
    people: People, file: Path
) -> None:
    site = people.site.slug
    withdrawn = people.add_participant("Tom").row
    in_database(lambda: Participant.objects.filter(pk=withdrawn.pk).update(is_active=False))
    sam = people.add_sam().username
    lines = {
        f"participant,Ann,{site},,": "",
        f"participant,ANN,{site},,": "The person of line 2 again",
        "participant,Ben,nowhere,,": "no site 'nowhere'",
        f"participant,tom,{site},,": "--restore",
        f"nurse,Cy,{site},,": "'nurse' is none of",
        f"participant,,{site},,": "cannot be empty",
        f"participant,Di,{site} {people.elsewhere.slug},,": "one site",
        f"participant,Ed,{site},ed,": "no username",
        "supervisor,Flo,,flo,": "A supervisor has sites or groups",
        f"supervisor,Flo,{site},Flo,": "small letters",
        f"supervisor,Flo,{site},flo,flo": "e-mail",
        f"operator,Sam,,{sam},": "with another name, role, sites or groups",
        f"participant,Gus,{site}": "3 cells",
    }
    file.write_text(HEAD + "\n".join(lines))

    assert "12 of 13 lines are refused" in refused("people", "import", str(file), *BY)

    assert list_names(people) == ["Tom"]
    answers = report(file)
    for answer, says in zip(answers, lines.values(), strict=True):
        assert says in answer["sentence"] and (answer["outcome"] == "refused") == bool(says)


def report(file: Path) -> list[dict[str, str]]:
    """The answer to each line of a check."""
    said = io.StringIO()

    def check() -> None:
        with pytest.raises(CommandError):
            call_command("people", "check", str(file), "--json", stdout=said)

    in_database(check)
    lines: list[dict[str, str]] = json.loads(said.getvalue())["lines"]
    return lines


def test_a_file_of_passwords_is_left_only_by_an_import_that_was_made(people: People, file: Path) -> None:
    file.write_text(f"{HEAD}supervisor,Kim,nowhere,kim-{people.password},\n")
    passwords = file.with_name("passwords.csv")

    refused("people", "import", str(file), "--passwords", str(passwords), *BY)

    assert [path.name for path in file.parent.iterdir()] == [file.name]
    passwords.write_text("of another import")
    assert "there already" in refused("people", "import", str(file), "--passwords", str(passwords), *BY)


def test_no_person_is_added_whose_password_cannot_be_kept(people: People, file: Path) -> None:
    kim = write_both(file, people)
    passwords = file.with_name("passwords.csv")
    part = file.with_name(".passwords.csv.part")

    def take_its_name() -> None:
        wait_until(lambda: part.exists() or passwords.exists(), within_s=30)
        if not passwords.exists():
            passwords.write_text("of another import")

    with ThreadPoolExecutor(1) as other:
        taken = other.submit(take_its_name)
        with suppress(CommandError):
            run("people", "import", str(file), "--passwords", str(passwords), *BY)
        taken.result()

    was_added = in_database(lambda: User.objects.filter(username=kim).exists())
    assert was_added == (kim in passwords.read_text())


@pytest.mark.parametrize(
    "email", [f"{'k' * 64}@{'k' * 60}.{'k' * 60}.{'k' * 60}.{'k' * 60}.org", "kim@", "@"]
)
def test_an_address_that_cannot_be_stored_is_refused(people: People, file: Path, email: str) -> None:
    file.write_text(f"{HEAD}supervisor,Kim,{people.site.slug},kim-{people.password},{email}\n")
    assert "1 of 1 lines are refused" in refused("people", "import", str(file), *BY)
    assert "e-mail address" in refused("staff", "email", people.add_sam().username, email, *BY)


def test_an_export_is_read_back_and_adds_no_one(people: People, file: Path) -> None:
    people.add_sam()
    people.add_participant("=HYPERLINK(“x”)")
    people.add_participant("Otto", site=people.elsewhere)

    assert "1 staff and 1 participants" in run("people", "export", str(file), "--site", people.site.slug, *BY)

    assert file.stat().st_mode & 0o777 == 0o600
    assert ",'=HYPERLINK" in file.read_text(encoding="utf-8-sig")
    assert run_lines("people", "check", str(file))[-1].endswith("adds 0; there before: 2.")
    assert "There is no site" in refused("people", "export", f"{file}2", "--site", "nowhere", *BY)


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_file_of_thousands_is_one_import(people: People, file: Path, count: int) -> None:
    lines = [f"participant,Person {number},{people.site.slug},," for number in range(count)]
    file.write_text(HEAD + "\n".join(lines))

    assert run_lines("people", "import", str(file), *BY)[-1] == f"Added: {count}; there before: 0."
    assert len(list_names(people)) == count
    assert run_lines("people", "import", str(file), *BY)[-1] == f"Added: 0; there before: {count}."
