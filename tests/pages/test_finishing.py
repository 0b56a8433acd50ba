"""*I am finished* is believed only when the service confirms it; until then the page is empty and says so (A2)."""

import httpx
import pytest
from playwright.async_api import expect

from tests.long_forms import mark_long
from tests.machines import live_visits
from tests.pages.answers import WrongAnswers
from tests.pages.conftest import OpenRoom
from tests.pages.door import Door
from tests.pages.secret import tell_secret
from tests.people import People
from tests.processes import Web

LEAVING = "Your words are not on this screen any more. This chat is closing now."
NOT_ENDED = "This chat is not closed yet. This page keeps trying. You can ask the staff to help."
SIGNED_OUT = "You are signed out. Your words are not on this screen any more."


async def test_an_end_that_the_service_does_not_confirm_is_not_believed(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await tell_secret(await open_room(), rosa)
    second = await room.another_tab()
    await expect(second.turns).to_have_count(1)
    tabs = (room, second)
    answers = WrongAnswers("/chat/finish/")
    await answers.give(*tabs)

    await room.finished.click()

    for tab in tabs:
        await expect(tab.page.get_by_text(LEAVING)).to_be_visible(timeout=2_000)
        assert "blue door" not in await tab.whole_text()
    for tab in tabs:
        await answers.until_all_given(tab)
        await expect(tab.page.get_by_text(NOT_ENDED)).to_be_visible()
        await expect(tab.page.get_by_role("link")).to_have_count(0)
    assert len(live_visits(rosa)) == 1
    await answers.leave(room)
    await room.page.get_by_text("You can come back when you like.").wait_for(timeout=20_000)
    await expect(second.page.get_by_text(SIGNED_OUT)).to_be_visible()
    assert live_visits(rosa) == []
    room.complaints.clear()
    second.complaints.clear()


@pytest.mark.parametrize("change", ["deleted", *mark_long(["changed"])])
async def test_a_visit_ends_whatever_became_of_the_form_cookie(
    open_room: OpenRoom, people: People, change: str
) -> None:
    rosa = people.rosa
    room = await tell_secret(await open_room(), rosa)
    await room.context.clear_cookies(name="csrftoken")
    if change == "changed":
        await room.context.add_cookies([{"name": "csrftoken", "value": "x" * 32, "url": room.base_url}])

    await room.finished.click()
    await room.page.get_by_text("You can come back when you like.").wait_for()

    assert live_visits(rosa) == []


async def test_a_page_ends_its_own_visit_when_the_browser_has_lost_the_cookie(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await tell_secret(await open_room(), rosa)
    other = await open_room(storage_state=await room.context.storage_state())
    await other.go("/chat/")
    await room.context.clear_cookies()

    await room.finished.click()
    await room.page.get_by_text("You can come back when you like.").wait_for()

    await expect(other.page.get_by_text(SIGNED_OUT)).to_be_visible()
    assert live_visits(rosa) == []


async def test_a_page_that_is_reloaded_while_the_end_is_not_confirmed_shows_no_conversation(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await tell_secret(await open_room(), rosa)
    await room.context.route("**/chat/finish/", lambda route: route.fulfill(status=403))
    await room.finished.click()
    await expect(room.page.get_by_text(LEAVING)).to_be_visible()

    await room.page.reload()

    await expect(room.page.get_by_role("heading", level=1)).to_have_text("Closing")
    assert "blue door" not in await room.whole_text()
    await room.context.unroute("**/chat/finish/")
    await room.finished.click()
    await room.page.get_by_text("You can come back when you like.").wait_for()
    assert live_visits(rosa) == []
    room.complaints.clear()


@pytest.mark.whole_browser
async def test_the_end_is_delivered_when_the_tab_is_closed_before_it_was_confirmed(
    open_room: OpenRoom, people: People, door: Door
) -> None:
    rosa = people.rosa
    room = await tell_secret(await open_room(door.url), rosa)
    other = await open_room()
    await other.context.add_cookies(await room.context.cookies())  # type: ignore[arg-type]
    await other.go("/chat/")
    await room.context.route("**/chat/finish/", lambda route: route.abort())
    await room.finished.click()
    await expect(room.page.get_by_text(LEAVING)).to_be_visible()
    await room.context.unroute("**/chat/finish/")

    await room.page.close(run_before_unload=True)

    await expect(other.page.get_by_text(SIGNED_OUT)).to_be_visible()
    assert live_visits(rosa) == []
    room.complaints.clear()


@pytest.mark.whole_browser
async def test_a_page_that_says_who_is_finished_never_shows_a_conversation(
    open_room: OpenRoom, people: People
) -> None:
    room = await tell_secret(await open_room(), people.rosa)

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
    assert (len(live_visits(rosa)), len(live_visits(otto))) == (0, 1)
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
    assert len(live_visits(rosa)) == 1
