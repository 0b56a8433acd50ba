"""Every line that a participant is shown is in their language, whichever process or member of staff causes it (A6)."""

import datetime
import uuid
from collections.abc import Callable

import httpx
import pytest

from companion.needs.models import Needs
from ops.character import get_languages
from personas.schema import system_prompt
from tests.machines import add_machine
from tests.page_socket import Page
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.settings import DATABASE_URL
from tests.staff import expire_hold
from tests.supervised import Supervisor

SPANISH = get_languages()["es"]
LINES = SPANISH.lines


@pytest.fixture
def rosa(people: People) -> Person:
    """Rosa, for whom Spanish is recorded, at a site where English is spoken."""
    person = people.rosa
    review = datetime.date(2030, 1, 1)
    in_database(lambda: Needs.objects.create(participant=person.row, language="es", review_by=review))
    return person


async def test_a_turn_opens_speaks_and_is_recorded_in_it(
    service: Web, rosa: Person, rehearsal: Rehearsal
) -> None:
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("¿Me puede contar algo del mar?")
        assert (await page.ending())["type"] == "complete"
        assert [frame["line"] for frame in page.disclosures] == [LINES.disclosure]
        await page.say("¿Es usted una persona?")
        await page.ending()

    turn, _ = rosa.turns()
    assert (turn.language, turn.persona_version) == ("es", SPANISH.version)
    system = rehearsal.list_requests()[-1]["messages"][0]["content"]
    assert system == system_prompt(SPANISH)
    assert "Responde en español" in system


async def test_a_pause_a_return_and_a_kept_question_are_in_it(
    service: Web, rosa: Person, rehearsal: Rehearsal
) -> None:
    rehearsal.inject({"cut": "reset", "after": 8}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("¿Qué ayuda contra el miedo?")
        assert (await page.ending())["line"] == LINES.pause
        await page.say("¿Y ahora?")
        openings = [frame["line"] for frame in [await page.until("opening")]]
        assert openings == [LINES.i_am_back]
        await page.ending()
        rehearsal.inject({"cut": "reset", "after": 8}, times=1)
        await page.say("¿Qué día es hoy?")
        assert (await page.ending())["line"] == LINES.pause
    expire_hold(rosa.turns()[-1])
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        conversation = (await page.until("hello"))["conversation"]
        assert [one["line"] for one in conversation["kept"]] == [LINES.kept]
        assert conversation["turns"][-1]["line"] == LINES.pause


async def test_what_staff_do_is_told_in_it(service: Web, neighbour: Web, rosa: Person) -> None:
    async with (
        Supervisor(DATABASE_URL, rosa) as sam,
        Page(neighbour.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await page.until("hello")
        await sam.pause("person", rosa.row.pk)
        assert (await page.until("staff_pause"))["line"] == LINES.staff_pause_person
        await page.say("¿Hola?")
        assert (await page.ending())["line"] == LINES.staff_pause_person
        await sam.resume("person", rosa.row.pk)
        assert (await page.until("staff_pause"))["line"] == LINES.staff_pause_over
        await sam.take_over()
        assert (await page.until("person"))["line"] == LINES.person_joins.format(name="Sam")
        await sam.hand_back()
        assert (await page.until("person"))["line"] == LINES.person_leaves.format(name="Sam")


async def test_asking_for_a_person_and_stopping_are_answered_in_it(
    service: Web, rosa: Person, rehearsal: Rehearsal
) -> None:
    cookie = rosa.sign_in(service.url)
    rehearsal.inject({"hang": "before_byte"}, times=1)
    async with Page(service.socket_url, cookie) as page:
        await page.say("¿Hola?")
        turn = (await page.until("accepted"))["turn"]
        await page.send({"type": "stop", "turn": turn})
        await page.until("stopped")
        assert rosa.turns()[-1].line in (LINES.stopped, LINES.taken_back)
        await page.send({"type": "help"})
        number = LINES.or_text.format(number="07700 900123")
        told = LINES.help_untold.format(helpline=f"0808 157 0123 {number}")
        assert (await page.until("help"))["line"] in (told, LINES.help_told)
        await page.send({"type": "say", "key": str(uuid.uuid4()), "text": ""})
        assert (await page.until("problem"))["line"] == LINES.nothing_written


def test_pages_are_in_it_and_before_sign_in_in_what_the_browser_asks_for(service: Web, rosa: Person) -> None:
    with httpx.Client(
        base_url=service.url, trust_env=False, headers={"Accept-Language": "es-MX,en"}
    ) as browser:
        card = browser.get("/card/")
        assert card.headers["Content-Language"] == "es"
        browser.cookies.set("companion", rosa.sign_in(service.url))
        chat = browser.get("/chat/", headers={"Accept-Language": "en"})
    assert '<html lang="es"' in chat.text
    assert LINES.disclosure in chat.text
    with httpx.Client(base_url=service.url, trust_env=False) as browser:
        assert browser.get("/card/", headers={"Accept-Language": "sw"}).headers["Content-Language"] == "en"
        assert browser.get("/finished/?in=es").headers["Content-Language"] == "es"


def test_a_machine_speaks_the_language_of_its_site_before_anyone_comes_in(
    service: Web, people: People
) -> None:
    browser, _ = add_machine(service, people.site)
    assert browser.get("/card/").headers["Content-Language"] == "en"

    people.site.language = "es"
    in_database(lambda: people.site.save(update_fields=["language"]))

    assert browser.get("/card/").headers["Content-Language"] == "es"
    assert LINES.machine_waits in browser.get("/machine/").text


async def test_others_of_the_site_read_on_in_the_language_of_the_site(
    service: Web, people: People, rosa: Person
) -> None:
    other = people.rosa
    async with Page(service.socket_url, other.sign_in(service.url)) as page:
        await page.say("Hello.")
        await page.ending()
    [turn] = other.turns()
    assert turn.language == "en"
    assert page.disclosures[0]["line"] == get_languages()["en"].lines.disclosure


async def test_a_lost_turn_is_paused_in_it_by_another_process(
    another_web: Callable[..., Web], service: Web, rosa: Person, rehearsal: Rehearsal
) -> None:
    dying = another_web()
    rehearsal.inject({"hang": "before_byte"}, times=1)
    cookie = rosa.sign_in(service.url)
    async with Page(dying.socket_url, cookie) as page:
        await page.say("¿Hola?")
        await page.until("accepted")
        dying.kill()
    async with Page(service.socket_url, cookie) as page:
        snapshot = (await page.until("hello"))["conversation"]["turns"][-1]
        ending = snapshot if snapshot["state"] == "paused" else await page.until("paused")
    assert ending["line"] == LINES.pause
