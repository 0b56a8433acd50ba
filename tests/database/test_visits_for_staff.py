"""Staff see that a screen is locked, how a visit was opened and ended, and what was offered (A1, A2)."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.commands import BY, run
from tests.machines import add_machine, live_visits, offer
from tests.people import People, Person
from tests.personal_data import named
from tests.processes import Web
from tests.staff import open_staff_client


@pytest.fixture
def desk(service: Web, people: People) -> Iterator[httpx.Client]:
    with open_staff_client(service, people.add_sam(), people.password) as client:
        yield client


def read(client: httpx.Client, path: str) -> str:
    """What a reader of a page reads."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.status_code
    shown = re.sub(r"<template.*?</template>", "", answer.text, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def page_of(person: Person, part: str = "") -> str:
    return f"/ops/people/{person.conversation.pk}/{part}"


def test_a_conversation_its_print_and_an_export_say_how_visits_began_and_ended_and_what_was_offered(
    service: Web, people: People, desk: httpx.Client, tmp_path: Path
) -> None:
    rosa, (browser, machine) = people.rosa, add_machine(service, people.site)
    browser.answer(offer(machine, rosa), "no")
    browser.answer(offer(machine, rosa), "yes")
    rosa.sign_in(service.url)

    for part in ("", "print/"):
        text = read(desk, page_of(rosa, part))
        assert text.count("Sam offered a visit on Front room") == 2
        assert {"said no", "said yes"} <= set(re.findall(r"said \w+", text))
        assert "on Front room , let in by Sam" in text
        assert "(came in elsewhere)" in text and ", is here" in text

    target = tmp_path / "rosa.html"
    run("export", *named(rosa), "--to", str(target), *BY)
    exported = target.read_text().split("<h2>Visits</h2>")[1]
    assert "<td>let in by staff: Sam, on Front room</td>" in exported
    assert "<td>came in elsewhere</td>" in exported and "<td>code of the card</td>" in exported
    assert "Sam, on Front room: the person there said no." in exported
    assert "Sam, on Front room: said yes." in exported


def test_a_locked_screen_is_named_and_its_machine_may_be_offered_to_another_person(
    service: Web, people: People, desk: httpx.Client
) -> None:
    rosa, (browser, machine) = people.rosa, add_machine(service, people.site)
    people.add_participant("Tomas")
    browser.answer(offer(machine, rosa), "yes")
    assert "screen locked" not in read(desk, "/ops/people/")
    assert "Open a visit here" not in read(desk, f"/ops/machines/{machine.pk}/")

    browser.post("/chat/lock/", proof="x")

    assert ", screen locked" in read(desk, "/ops/people/")
    assert "is here; the screen is locked" in read(desk, page_of(rosa))
    assert "Locked, and may be used by another person : Rosa" in read(desk, "/ops/machines/")
    assert "Open a visit here" in read(desk, f"/ops/machines/{machine.pk}/")
    browser.post("/locked/someone-else/")
    assert live_visits(rosa) == []
    assert "(left it locked)" in read(desk, page_of(rosa))
