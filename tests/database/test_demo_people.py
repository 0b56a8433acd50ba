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
from ops.models import AuditEntry
from tests.people import People, in_database
from tests.processes import Web


def run(name: str, *arguments: str, **options: Any) -> str:
    said = io.StringIO()
    in_database(lambda: call_command(name, *arguments, stdout=said, **options))
    return said.getvalue()


@pytest.fixture
def no_demo_people(people: People) -> None:
    in_database(lambda: User.objects.filter(username__in=["sam", "tess", "ines"]).delete())
    # People who talked there before stay, under another name.
    in_database(lambda: Site.objects.filter(slug="willow-house").update(slug=f"old-{people.site.slug}"[:50]))


@pytest.mark.usefixtures("no_demo_people")
def test_a_second_run_makes_no_person_and_prints_the_same(tmp_path: Path) -> None:
    passwords = tmp_path / "staff.json"

    first = in_database(lambda: demo(passwords))
    count = in_database(Participant.objects.count)
    second = in_database(lambda: demo(passwords))

    assert second == first
    assert in_database(Participant.objects.count) == count


@pytest.mark.usefixtures("no_demo_people")
def test_the_printed_passwords_open_and_a_password_changed_since_is_not_touched(tmp_path: Path) -> None:
    passwords = tmp_path / "staff.json"
    staff = {member["username"]: member for member in in_database(lambda: demo(passwords))["staff"]}
    ines = in_database(lambda: authenticate(username="ines", password=staff["ines"]["password"]))
    assert isinstance(ines, User)
    ines.set_password("a password of her own")
    in_database(ines.save)

    again = {member["username"]: member for member in in_database(lambda: demo(passwords))["staff"]}

    assert in_database(lambda: authenticate(username="ines", password="a password of her own"))
    assert "staff password ines" in again["ines"]["password"]
    assert again["sam"] == staff["sam"]


@pytest.mark.usefixtures("no_demo_people")
def test_a_removed_or_withdrawn_person_is_not_made_again_and_not_printed(tmp_path: Path) -> None:
    passwords = tmp_path / "staff.json"
    in_database(lambda: demo(passwords))
    in_database(lambda: User.objects.filter(username="ines").delete())
    in_database(
        lambda: Participant.objects.filter(name="Rosa", site__slug="willow-house").update(is_active=False)
    )

    again = in_database(lambda: demo(passwords))

    assert [member["username"] for member in again["staff"]] == ["sam", "tess"]
    assert [person["name"] for person in again["participants"]] == ["Tomas", "Ada"]
    assert not in_database(User.objects.filter(username="ines").exists)


@pytest.mark.usefixtures("no_demo_people")
def test_a_right_that_was_taken_away_is_not_given_back(tmp_path: Path) -> None:
    passwords = tmp_path / "staff.json"
    in_database(lambda: demo(passwords))
    sam = in_database(lambda: User.objects.get(username="sam"))
    in_database(sam.groups.clear)

    again = in_database(lambda: demo(passwords))

    assert [member["username"] for member in again["staff"]] == ["tess", "ines"]
    assert in_database(sam.groups.count) == 0


@pytest.mark.usefixtures("no_demo_people")
def test_a_real_person_with_the_name_of_a_demo_person_gets_no_right_by_it(tmp_path: Path) -> None:
    real = in_database(lambda: User.objects.create_user("ines", password="her own, and long"))

    facts = in_database(lambda: demo(tmp_path / "staff.json"))

    real = in_database(lambda: User.objects.get(pk=real.pk))
    assert not real.is_staff and not real.is_superuser and in_database(real.groups.count) == 0
    assert [member["username"] for member in facts["staff"]] == ["sam", "tess"]


@pytest.mark.usefixtures("no_demo_people")
@pytest.mark.parametrize("option", ["--if-new", "--show"])
def test_a_database_that_is_used_gets_no_demo_people_unasked(option: str) -> None:
    facts = json.loads(run("demo_site", "--json", option).splitlines()[-1])

    assert facts["site"] == "" and facts["staff"] == facts["participants"] == []
    assert not in_database(User.objects.filter(username__in=["sam", "ines"]).exists)


@pytest.mark.usefixtures("no_demo_people")
def test_every_card_that_is_printed_is_on_record() -> None:
    before = in_database(AuditEntry.objects.count)
    printed = json.loads(run("demo_site", "--json").splitlines()[-1])["participants"]

    rows = in_database(lambda: list(AuditEntry.objects.order_by("id")[before:]))
    assert [row.what for row in rows] == ["printed_card"] * len(printed) and len(printed) == 3


@pytest.mark.usefixtures("no_demo_people")
def test_what_programs_read_is_one_object_on_the_last_line() -> None:
    facts = json.loads(run("demo_site", "--json").splitlines()[-1])

    assert [member["name"] for member in facts["staff"]] == ["Sam", "Tess", "Ines"]
    assert [person["name"] for person in facts["participants"]] == ["Rosa", "Tomas", "Ada"]


def test_the_card_on_the_last_lines_opens_the_chat(service: Web, people: People) -> None:
    person = people.add_participant("Nina")

    pictures, code, link = run("card", "Nina", "--site", people.site.slug).splitlines()

    assert link.endswith(f"/card/#{person.card.link}")
    assert code == f"Code to type: {person.card.code}"
    first, second = pictures.removeprefix("Pictures to press: ").split(", then ")
    form = {"link": link.split("#")[1], "first": first, "second": second}
    headers = {"Origin": service.url}
    answer = httpx.post(f"{service.url}/card/", data=form, headers=headers, trust_env=False)
    assert answer.headers["location"] == "/chat/"


def test_a_participant_is_added_on_request_and_only_once(people: People) -> None:
    first = run("card", "Mo", "--create", "--site", people.site.slug).splitlines()
    second = run("card", "Mo", "--create", "--site", people.site.slug).splitlines()

    assert first[-3:] == second


def test_an_unknown_name_is_refused_with_the_command_that_adds_it(people: People) -> None:
    with pytest.raises(CommandError, match="--create"):
        run("card", "Unknown person", "--site", people.site.slug)


def test_a_name_that_several_have_is_not_guessed(people: People) -> None:
    name = f"Rosa {people.site.slug}"
    people.add_participant(name)
    people.add_participant(name, site=people.elsewhere)

    with pytest.raises(CommandError, match="--site"):
        run("card", name)


def test_a_new_person_is_not_put_at_just_any_of_several_sites(people: People) -> None:
    assert in_database(Site.objects.count) > 1

    with pytest.raises(CommandError, match=people.site.slug):
        run("card", "New person", "--create")
