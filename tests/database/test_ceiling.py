"""The operators' ceiling: set by a command, on record, in the figures at once."""

import io
import json
import os
import pwd
from collections.abc import Iterator

import httpx
import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from companion.models import Ceiling
from ops.models import AuditEntry
from ops.status.figures import compute_ceiling
from tests.ceilings import delete_ceilings
from tests.people import in_database
from tests.processes import Web
from tests.staff import BEARER, figures


@pytest.fixture(autouse=True)
def _no_ceiling_before_and_after(database: object) -> Iterator[None]:
    delete_ceilings()
    yield
    delete_ceilings()


def ceiling(*arguments: str) -> str:
    written = io.StringIO()
    in_database(lambda: call_command("ceiling", *arguments, stdout=written))
    return written.getvalue()


def test_without_a_number_it_says_what_holds_and_changes_nothing() -> None:
    assert "Turns in flight at once: 32 (the setting COMPANION_CEILING" in ceiling()
    assert in_database(Ceiling.objects.count) == 0


def test_a_new_ceiling_stands_on_record_with_who_and_why() -> None:
    ceiling("12", "--by", "Ines", "--reason", "A group session at Willow House")
    said = ceiling("6", "--by", "Ines", "--reason", "The provider asked for it")

    assert "12, set by Ines: A group session at Willow House" in said
    assert "Turns in flight at once: 6 (set by operators)" in said
    assert [row.value for row in in_database(lambda: list(Ceiling.objects.order_by("id")))] == [12, 6]


def test_setting_it_is_in_the_audit_record_too_with_the_account_it_was_typed_in() -> None:
    ceiling("12", "--by", "Ines", "--reason", "A test")

    last = in_database(lambda: AuditEntry.objects.order_by("-id").first())
    account = pwd.getpwuid(os.getuid()).pw_name
    assert last is not None
    assert (last.who, last.what, last.note) == (
        "Ines",
        "set_ceiling",
        f"ceiling 12, command, account {account}",
    )


@pytest.mark.parametrize(
    "change",
    ["UPDATE companion_ceiling SET value = 9", "DELETE FROM companion_ceiling", "TRUNCATE companion_ceiling"],
)
def test_the_database_refuses_to_change_a_ceiling_that_was_set(change: str) -> None:
    ceiling("12", "--by", "Ines", "--reason", "A test")
    with (
        psycopg.connect(settings.DATABASE_URL) as connection,
        pytest.raises(psycopg.Error, match="append-only"),
    ):
        connection.execute(change)
    assert [row.value for row in in_database(lambda: list(Ceiling.objects.all()))] == [12]


def test_operators_go_back_to_the_setting_and_that_is_on_record_too(service: Web) -> None:
    ceiling("12", "--by", "Ines", "--reason", "A group session")
    said = ceiling("--default", "--by", "Ines", "--reason", "It is over")

    assert "back to the setting, by Ines: It is over" in said
    assert "Turns in flight at once: 32 (the setting COMPANION_CEILING)" in said
    assert json.loads(ceiling("--json"))["ceiling"] == 32
    assert figures(service)["ceiling"] == 32
    assert figures(service)["ceiling_from"]["operators"] is None
    assert [row.value for row in in_database(lambda: list(Ceiling.objects.order_by("id")))] == [12, None]


def test_programs_read_it_as_json() -> None:
    ceiling("12", "--by", "Ines", "--reason", "A test")
    told = json.loads(ceiling("--json"))

    assert (told["ceiling"], told["setting"]) == (12, 32)
    assert told["changes"][0]["by"] == "Ines"


@pytest.mark.parametrize(
    "arguments",
    [
        ["0", "--by", "Ines", "--reason", "x"],
        ["10001", "--by", "Ines", "--reason", "x"],
        ["5"],
        ["5", "--default", "--by", "Ines", "--reason", "x"],
        ["--default"],
        ["5", "--by", "Ines"],
        ["5", "--reason", "x"],
        ["5", "--by", " ", "--reason", "x"],
        ["5", "--by", "Ines", "--reason", "x\nby Sam"],
        ["5", "--by", "Ines\nSam", "--reason", "x"],
        ["--by", "Ines"],
    ],
)
def test_a_ceiling_that_is_nonsense_or_names_no_decider_is_refused_and_changes_nothing(
    arguments: list[str],
) -> None:
    with pytest.raises(CommandError):
        ceiling(*arguments)
    assert in_database(Ceiling.objects.count) == 0


def test_the_figures_name_the_compute_ceiling_and_where_it_comes_from(service: Web) -> None:
    ceiling("7", "--by", "Ines", "--reason", "A test")
    told = figures(service)

    assert told["ceiling"] == 7
    assert told["ceiling_from"]["setting"] == 32
    assert (told["ceiling_from"]["operators"], told["ceiling_from"]["by"]) == (7, "Ines")


@pytest.mark.parametrize(
    ("operators", "preset", "in_force"),
    [(None, None, 32), (40, None, 40), (40, 4, 4), (None, 4, 4), (2, 4, 2)],
)
def test_the_operators_stand_above_the_setting_and_the_preset_below_both(
    operators: int | None, preset: int | None, in_force: int
) -> None:
    assert compute_ceiling(setting=32, operators=operators, preset=preset) == in_force


def test_the_metrics_are_for_the_bearer_of_the_token_or_staff(service: Web) -> None:
    assert httpx.get(f"{service.url}/metrics", trust_env=False).status_code == 401
    answer = httpx.get(f"{service.url}/metrics", headers=BEARER, trust_env=False)

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "\ncompanion_ceiling " in answer.text
