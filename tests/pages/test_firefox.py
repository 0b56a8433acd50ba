"""The core of a visit in Firefox, as Debian ships it: the way in, a reply, a pause, the end, Back (A2, A3)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.pages.firefox import Firefox, Tab, run_firefox
from tests.people import People, Person
from tests.processes import Rehearsal, Web

SECRET = "My secret is a blue door."
LAST_TURN = "document.querySelector('[data-turns] > [data-state]:last-of-type')?.dataset.state"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def firefox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Firefox]:
    folder: Path = tmp_path_factory.mktemp("firefox")
    async with run_firefox(folder) as firefox:
        yield firefox


@pytest_asyncio.fixture(loop_scope="session")
async def tab(firefox: Firefox) -> AsyncIterator[Tab]:
    async with firefox.open_profile() as tab:
        yield tab


async def come_in(tab: Tab, service: Web, person: Person) -> None:
    await tab.go(f"{service.url}/card/#{person.card.link}")
    for picture in person.card.pictures:
        await tab.press("button", picture.capitalize())
    await tab.expect(
        "location.pathname === '/chat/' && document.querySelector('[data-greeting]')?.checkVisibility()"
    )


async def test_a_card_leads_to_the_room_and_a_reply_stands_as_it_was_stored(
    tab: Tab, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    await come_in(tab, service, rosa)
    assert await tab.evaluate("location.hash") == ""
    rehearsal.inject({"say": "Good morning, Rosa. I am glad you wrote."}, times=1)

    await tab.write("Write to Robin", "Good morning.")
    await tab.expect(f"{LAST_TURN} === 'complete'")

    [stored] = rosa.turns()
    await tab.expect_text(stored.reply)
    await tab.reload()
    await tab.expect_text(stored.reply)
    await tab.expect_text("Good morning.")


async def test_a_reply_that_breaks_off_pauses_and_the_next_one_comes_back_to_it(
    tab: Tab, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    await come_in(tab, service, rosa)
    rehearsal.inject({"cut": "reset", "after": 3, "pace_ms": 40}, times=1)

    await tab.write("Write to Robin", "What helps against fear?")
    await tab.expect(f"{LAST_TURN} === 'paused'")
    await tab.expect_text(rosa.turns()[0].line)
    await tab.write("Write to Robin", "Are you there?")
    await tab.expect(f"{LAST_TURN} === 'complete'")

    assert "i_am_back" in [opening["kind"] for opening in rosa.turns()[1].openings]
    await tab.expect_text(rosa.turns()[1].openings[-1]["line"])


async def test_after_the_end_no_tab_and_no_way_back_shows_anything(
    tab: Tab, service: Web, people: People
) -> None:
    await tab.go(f"{service.url}/card/")
    await come_in(tab, service, people.rosa)
    await tab.write("Write to Robin", SECRET)
    await tab.expect(f"{LAST_TURN} === 'complete'")
    second = await tab.open_another()
    await second.go(f"{service.url}/chat/")
    await second.expect_text(SECRET)

    await tab.press("button", "I am finished")
    await tab.expect("location.pathname === '/finished/'")

    await second.expect("!document.documentElement.textContent.includes('blue door')")
    await tab.go_back()
    await tab.expect("location.pathname !== '/finished/' && document.readyState === 'complete'")
    assert "blue door" not in await tab.text()
    assert "blue door" not in await second.text()


async def test_the_back_forward_cache_of_this_browser_is_on(tab: Tab, service: Web) -> None:
    # A page of our own that may be cached whole: it must come back whole, or the test above proves nothing.
    await tab.go(f"{service.url}/static/companion/mark.svg")
    await tab.evaluate("window.kept = true")
    await tab.go(f"{service.url}/card/")
    await tab.go_back()
    await tab.expect("window.kept === true")
