"""The demo site's people, and the command that prints a card."""

import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from companion.models import Participant, Site
from ops.management.commands.demo_site import demo
from tests.people import People, in_database
from tests.processes import Web


def run(name: str, *arguments: str, **options: Any) -> str:
    said = io.StringIO()
    in_database(lambda: call_command(name, *arguments, stdout=said, **options))
    return said.getvalue()


@pytest.fixture
def nobody_yet(people: People) -> None:
    in_database(lambda: User.objects.filter(username__in=["sam", "ines"]).delete())


@pytest.mark.usefixtures("nobody_yet")
def test_a_second_run_makes_nobody_and_prints_the_same(tmp_path: Path) -> None:
    passwords = tmp_path / "staff.json"

    first = in_database(lambda: demo(passwords))
    count = in_database(Participant.objects.count)
    second = in_database(lambda: demo(passwords))

    assert second == first
    assert in_database(Participant.objects.count) == count


@pytest.mark.usefixtures("nobody_yet")
def test_the_printed_passwords_open_and_a_password_changed_since_is_not_touched(tmp_path: Path) -> None:
    passwords = tmp_path / "staff.json"
    staff = {member["username"]: member for member in in_database(lambda: demo(passwords))["staff"]}
    ines = in_database(lambda: authenticate(username="ines", password=staff["ines"]["password"]))
    assert isinstance(ines, User)
    ines.set_password("a password of her own")
    in_database(ines.save)

    again = {member["username"]: member for member in in_database(lambda: demo(passwords))["staff"]}

    assert in_database(lambda: authenticate(username="ines", password="a password of her own"))
    assert "changepassword ines" in again["ines"]["password"]
    assert again["sam"] == staff["sam"]


@pytest.mark.usefixtures("nobody_yet")
def test_what_programs_read_is_one_object_on_the_last_line() -> None:
    facts = json.loads(run("demo_site", "--json").splitlines()[-1])

    assert [member["name"] for member in facts["staff"]] == ["Sam", "Ines"]
    assert [person["name"] for person in facts["participants"]] == ["Rosa", "Tomas", "Ada"]


def test_the_card_on_the_last_line_opens_the_chat(service: Web, people: People) -> None:
    person = people.participant("Nina")

    link = run("card", "Nina", "--site", people.site.slug).splitlines()[-1]

    assert person.card in link
    path = "/card/" + link.split("/card/")[1]
    assert httpx.get(service.url + path, trust_env=False).headers["location"] == "/chat/"


def test_a_participant_is_added_on_request_and_only_once(people: People) -> None:
    first = run("card", "Mo", "--create", "--site", people.site.slug).splitlines()
    second = run("card", "Mo", "--create", "--site", people.site.slug).splitlines()

    assert first[-1] == second[-1]
    assert len(second) == 1


def test_a_name_that_nobody_has_is_said_with_the_way_to_add_them(people: People) -> None:
    with pytest.raises(CommandError, match="--create"):
        run("card", "Nobody here", "--site", people.site.slug)


def test_a_name_that_several_have_is_not_guessed(people: People) -> None:
    name = f"Rosa {people.site.slug}"
    people.participant(name)
    people.participant(name, site=people.elsewhere)

    with pytest.raises(CommandError, match="--site"):
        run("card", name)


def test_a_new_person_is_not_put_at_just_any_of_several_sites(people: People) -> None:
    assert in_database(Site.objects.count) > 1

    with pytest.raises(CommandError, match=people.site.slug):
        run("card", "Somebody new", "--create")
