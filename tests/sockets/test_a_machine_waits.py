"""A waiting machine is told within a second whom staff offer, on whichever process it is (A1)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from companion.needs.choices import Value
from companion.needs.store import change_needs
from ops.people.machines import withdraw_machine
from ops.stack.postgres import EmbeddedPostgres
from personas.load import DEFAULT, load
from tests.machines import MachineBrowser, add_machine, offer, open_browser, pass_time
from tests.people import People, in_database
from tests.processes import Web

ES = load(DEFAULT.with_name("robin.es.toml"))
WITHIN_S = 1.0


@asynccontextmanager
async def waiting_page(browser: MachineBrowser, service: Web) -> AsyncIterator[ClientConnection]:
    headers = {"Origin": service.url, "Cookie": f"machine={browser.cookie('machine')}"}
    address = service.url.replace("http", "ws", 1) + "/ws/machine/"
    async with connect(address, additional_headers=headers, proxy=None) as socket:
        yield socket


async def next_frame(socket: ClientConnection, within_s: float = 10) -> dict[str, Any]:
    async with asyncio.timeout(within_s):
        frame: dict[str, Any] = json.loads(await socket.recv())
        return frame


async def close_code(socket: ClientConnection) -> int:
    async with asyncio.timeout(5):
        with pytest.raises(ConnectionClosed):
            while True:
                await socket.recv()
    return socket.close_code or 0


async def test_an_offer_is_on_the_machine_within_a_second(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    async with waiting_page(browser, service) as page:
        assert await next_frame(page) == {"type": "hello", "v": 1}
        assert await next_frame(page) == {"type": "waiting"}

        asked = offer(machine, people.add_participant("Rosa Maria Lind"))

        frame = await next_frame(page, WITHIN_S)
        assert (frame["type"], frame["offer"], frame["name"]) == ("offer", asked, "Rosa")
        assert frame["question"] == "Hello Rosa. Is this you?" and "Lind" not in str(frame)


async def test_a_person_is_asked_in_their_own_language_and_look_and_nothing_else_of_them_is_told(
    service: Web, people: People
) -> None:
    browser, machine = add_machine(service, people.site)
    ana = people.add_participant("Ana")
    chosen: dict[str, Value] = {
        "language": "es",
        "type_percent": 150,
        "contrast": "strong",
        "read_aloud": "each",
    }
    in_database(lambda: change_needs(ana.row.pk, chosen))
    asked = offer(machine, ana)
    async with waiting_page(browser, service) as page:
        assert (await next_frame(page))["type"] == "hello"

        assert await next_frame(page) == {
            "type": "offer",
            "offer": asked,
            "name": "Ana",
            "language": "es",
            "question": "Hola, Ana. ¿Es usted?",
            "yes": ES.lines.this_is_me,
            "no": ES.lines.this_is_not_me,
            "look": {"type": "150", "contrast": "strong"},
        }

    served = browser.look()
    assert 'lang="es"' in served and "Hola, Ana. ¿Es usted?" in served and ES.lines.this_is_me in served
    assert 'data-type="150"' in served and "data-aloud" not in served.split("<head>")[0]
    # The rest of the page is the site's.
    assert '<html lang="en"' in served
    browser.answer(asked, "no")
    after = browser.look()
    assert "Hola" not in after and "data-type" not in after.split("<head>")[0]


async def test_an_answer_on_another_process_ends_the_question(
    service: Web, neighbour: Web, people: People
) -> None:
    browser, machine = add_machine(service, people.site)
    asked = offer(machine, people.rosa)
    async with waiting_page(browser, neighbour) as page:
        assert (await next_frame(page))["type"] == "hello"
        assert (await next_frame(page))["type"] == "offer"

        await asyncio.to_thread(browser.answer, asked, "no")

        assert await next_frame(page, WITHIN_S) == {"type": "waiting"}


async def test_an_offer_whose_ring_was_lost_is_there_all_the_same(
    service: Web, people: People, database: EmbeddedPostgres
) -> None:
    browser, machine = add_machine(service, people.site)
    rosa = people.rosa
    async with waiting_page(browser, service) as page:
        await next_frame(page)
        await next_frame(page)

        # A row without its notification.
        async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as connection:
            await connection.execute(
                "INSERT INTO companion_visitoffer (machine_id, participant_id, by, by_name, expires_at) "
                "VALUES (%s, %s, 1, 'Sam', clock_timestamp() + interval '5 minutes')",
                [machine.pk, rosa.row.pk],
            )

        assert (await next_frame(page, 3))["type"] == "offer"


async def test_a_withdrawal_closes_the_page_of_the_machine_at_once(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    async with waiting_page(browser, service) as page:
        await next_frame(page)

        in_database(lambda: withdraw_machine(machine.pk, sites={people.site.pk}, by="Sam"))

        assert await close_code(page) == 4401


async def test_a_page_whose_cookie_was_replaced_twice_has_to_come_again(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    async with waiting_page(browser, service) as page:
        await next_frame(page)
        await next_frame(page)
        await asyncio.to_thread(browser.look_later, machine)
        await page.send('{"type":"ping"}')
        assert await next_frame(page) == {"type": "pong"}

        await asyncio.to_thread(browser.look_later, machine)

        assert await close_code(page) == 4401


async def test_a_browser_that_is_no_machine_is_told_so(service: Web) -> None:
    async with waiting_page(open_browser(service), service) as page:
        assert await close_code(page) == 4401


async def test_a_copied_cookie_gets_no_names(service: Web, people: People) -> None:
    browser, machine = add_machine(service, people.site)
    thief = browser.copy()
    for _ in range(2):
        pass_time(machine)
        await asyncio.to_thread(browser.look)

    async with waiting_page(thief, service) as page:
        assert await close_code(page) == 4401


async def test_a_machine_opens_ten_waiting_pages_at_most(service: Web, people: People) -> None:
    browser, _ = add_machine(service, people.site)
    pages = [waiting_page(browser, service) for _ in range(10)]
    for page in pages:
        assert (await next_frame(await page.__aenter__()))["type"] == "hello"

    async with waiting_page(browser, service) as eleventh:
        assert await close_code(eleventh) == 4403

    for page in pages:
        await page.__aexit__(None, None, None)
