"""*I am finished* is believed only when the service confirms it; until then the page is empty and says so (A2)."""

import httpx
import pytest
from playwright.async_api import Page, Route, expect

from companion.models import Visit
from tests.pages.answers import ANSWERS
from tests.pages.conftest import OpenRoom
from tests.pages.door import Door
from tests.pages.room import Room
from tests.patience import until
from tests.people import People, Person, in_database
from tests.processes import Web

SECRET = "My secret is a blue door."
LEAVING = "Your words are not on this screen any more. This chat is closing now."
NOT_ENDED = "This chat is not closed yet. This page keeps trying. You can ask the staff to help."
SIGNED_OUT = "You are signed out. Your words are not on this screen any more."


def live_visits(person: Person) -> int:
    return in_database(lambda: Visit.objects.filter(participant=person.row, ended_at=None).count())


async def talking(room: Room, person: Person) -> Room:
    await room.enter(person)
    await room.ask(SECRET)
    await room.box.fill("A draft about a blue door.")
    return room


async def test_an_end_that_the_service_does_not_confirm_is_not_believed(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await talking(await open_room(), rosa)
    second = await room.another_tab()
    await expect(second.turns).to_have_count(1)
    tabs = (room, second)
    given: dict[Page, list[str]] = {tab.page: [] for tab in tabs}
    for tab in tabs:
        # Each try follows after half a second.
        await tab.page.evaluate(
            "() => { let tries = 0; Math.random = () => Math.max(0.05, 0.5 ** tries++); }"
        )

    async def stand_in(route: Route) -> None:
        """Give each tab every answer in turn, and then the last again and again."""
        names = given[route.request.frame.page]
        names.append(list(ANSWERS)[min(len(names), len(ANSWERS) - 1)])
        answer = ANSWERS[names[-1]]
        await (route.abort() if answer is None else route.fulfill(**answer))

    await room.context.route("**/chat/finish/", stand_in)
    await room.finished.click()

    for tab in tabs:
        await expect(tab.page.get_by_text(LEAVING)).to_be_visible(timeout=2_000)
        assert "blue door" not in await tab.whole_text()
    for tab in tabs:
        await until(lambda tab=tab: set(given[tab.page]) == set(ANSWERS), within_s=30)  # type: ignore[misc]
        await expect(tab.page.get_by_text(NOT_ENDED)).to_be_visible()
        await expect(tab.page.get_by_role("link")).to_have_count(0)
    assert live_visits(rosa) == 1
    await room.context.unroute("**/chat/finish/")
    await room.page.get_by_text("You can come back when you like.").wait_for(timeout=20_000)
    await expect(second.page.get_by_text(SIGNED_OUT)).to_be_visible()
    assert live_visits(rosa) == 0
    room.complaints.clear()
    second.complaints.clear()


@pytest.mark.parametrize("change", ["changed", "deleted"])
async def test_a_visit_ends_whatever_became_of_the_form_cookie(
    open_room: OpenRoom, people: People, change: str
) -> None:
    rosa = people.rosa
    room = await talking(await open_room(), rosa)
    await room.context.clear_cookies(name="csrftoken")
    if change == "changed":
        await room.context.add_cookies([{"name": "csrftoken", "value": "x" * 32, "url": room.base_url}])

    await room.finished.click()
    await room.page.get_by_text("You can come back when you like.").wait_for()

    assert live_visits(rosa) == 0


async def test_a_page_ends_its_own_visit_when_the_browser_has_lost_the_cookie(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await talking(await open_room(), rosa)
    other = await open_room(storage_state=await room.context.storage_state())
    await other.go("/chat/")
    await room.context.clear_cookies()

    await room.finished.click()
    await room.page.get_by_text("You can come back when you like.").wait_for()

    await expect(other.page.get_by_text(SIGNED_OUT)).to_be_visible()
    assert live_visits(rosa) == 0


async def test_a_page_that_is_reloaded_while_the_end_is_not_confirmed_shows_no_conversation(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await talking(await open_room(), rosa)
    await room.context.route("**/chat/finish/", lambda route: route.fulfill(status=403))
    await room.finished.click()
    await expect(room.page.get_by_text(LEAVING)).to_be_visible()

    await room.page.reload()

    await expect(room.page.get_by_role("heading", level=1)).to_have_text("Closing")
    assert "blue door" not in await room.whole_text()
    await room.context.unroute("**/chat/finish/")
    await room.finished.click()
    await room.page.get_by_text("You can come back when you like.").wait_for()
    assert live_visits(rosa) == 0
    room.complaints.clear()


async def test_the_end_is_delivered_when_the_tab_is_closed_before_it_was_confirmed(
    open_room: OpenRoom, people: People, door: Door
) -> None:
    rosa = people.rosa
    room = await talking(await open_room(door.url), rosa)
    other = await open_room()
    await other.context.add_cookies(await room.context.cookies())  # type: ignore[arg-type]
    await other.go("/chat/")
    await room.context.route("**/chat/finish/", lambda route: route.abort())
    await room.finished.click()
    await expect(room.page.get_by_text(LEAVING)).to_be_visible()
    await room.context.unroute("**/chat/finish/")

    await room.page.close(run_before_unload=True)

    await expect(other.page.get_by_text(SIGNED_OUT)).to_be_visible()
    assert live_visits(rosa) == 0
    room.complaints.clear()


async def test_a_page_that_says_who_is_finished_never_shows_a_conversation(
    open_room: OpenRoom, people: People
) -> None:
    room = await talking(await open_room(), people.rosa)

    await room.go_to("/finished/")

    assert "blue door" not in await room.whole_text()
    await expect(room.page.get_by_text("This chat is not closed yet.")).to_be_visible()
    await room.page.get_by_role("link", name="Go to the chat").click()
    await room.ready()


def test_ending_one_visit_leaves_that_of_another_person_in_the_same_browser(
    service: Web, people: People
) -> None:
    rosa, otto = people.rosa, people.otto
    theirs = {"companion": rosa.sign_in(service.url)}
    page = httpx.get(f"{service.url}/chat/", cookies=theirs, trust_env=False, verify=False).text
    ticket = page.split('name="ticket" value="')[1].split('"')[0]
    cookies = {"companion": otto.sign_in(service.url)}
    headers = {"Origin": service.url}

    answer = httpx.post(
        f"{service.url}/chat/finish/",
        data={"ticket": ticket, "proof": "mine"},
        cookies=cookies,
        headers=headers,
        trust_env=False,
        verify=False,
    )

    assert answer.json() == {"ended": "mine"}
    assert (live_visits(rosa), live_visits(otto)) == (0, 1)
    assert (
        httpx.get(f"{service.url}/chat/", cookies=cookies, trust_env=False, verify=False).status_code == 200
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
)
def test_no_other_page_can_end_a_visit(service: Web, people: People, headers: dict[str, str]) -> None:
    rosa = people.rosa
    cookies = {"companion": rosa.sign_in(service.url)}

    answer = httpx.post(
        f"{service.url}/chat/finish/",
        data={"proof": "mine"},
        cookies=cookies,
        headers=headers,
        trust_env=False,
        verify=False,
    )

    assert answer.status_code == 403
    assert live_visits(rosa) == 1
