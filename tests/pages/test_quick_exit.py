"""*Leave now*: first for the keyboard, one press, and nothing of the visit is left, whatever answers (A2)."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Request, Route, expect

from companion.models import Site, Visit
from tests.long_forms import mark_long
from tests.pages.answers import WrongAnswers
from tests.pages.axe import find_violations
from tests.pages.conftest import ARGUMENTS, CHROMIUM, LEFT_ON, OpenRoom
from tests.pages.leaving import close_in_time
from tests.pages.profiles import find_files_with
from tests.pages.room import Room
from tests.pages.secret import DRAFT, SECRET, sees_nothing, tell_secret
from tests.people import People, Person, in_database
from tests.processes import Web

EMPTY = "There is nothing on this page."
NOT_ENDED = "This chat is not closed yet. This page keeps trying. You can ask the staff to help."
NOTE = "The button “Leave now” shows another page. This browser may still list that you were here."
ELSEWHERE = "https://weather.example/today"
CANARY = "A canary that sings of a green gate."
# What a page leaves behind that takes no care: in its title, its address, a field, and every storage of the browser.
CANARY_PAGE = f"""<!doctype html><title>{CANARY}</title><body><p>{CANARY}</p>
<form autocomplete="on"><input name="q" value="{CANARY}"></form>
<script>
  localStorage.setItem("canary", "{CANARY}");
  history.replaceState("{CANARY}", "", "#" + encodeURI("{CANARY}"));
</script>
"""


def end_reasons(person: Person) -> list[str]:
    return in_database(
        lambda: list(Visit.objects.filter(participant=person.row).values_list("end_reason", flat=True))
    )


def choose_exit(people: People, address: str) -> None:
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(exit_address=address))


@pytest.mark.whole_browser
async def test_one_press_ends_the_visit_and_leads_to_a_page_that_shows_nothing_of_the_service(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await tell_secret(await open_room(), rosa)
    second = await room.another_tab()
    elsewhere = await open_room(storage_state=await room.context.storage_state())
    await elsewhere.go("/chat/")
    await expect(second.page.get_by_text(SECRET)).to_be_visible()
    await expect(room.page.get_by_text(NOTE)).to_be_visible()
    assert await room.leave_now.evaluate("(button) => button.getAttribute('aria-describedby')") == "exit-note"

    await room.leave_now.click()

    for tab in (room, second, elsewhere):
        await expect(tab.page.get_by_text(SECRET)).to_have_count(0, timeout=2_000)
        await tab.page.wait_for_url("**/empty/")
        await expect(tab.page.get_by_role("heading", name=EMPTY)).to_be_visible()
        assert (await tab.page.title(), "Robin" in await tab.whole_text()) == ("Page", False)
    assert await find_violations(room.page) == []
    assert end_reasons(rosa) == ["quick_exit"]


async def test_it_is_the_first_stop_of_the_keyboard_on_every_page_of_a_visit(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    for path in ("/chat/", "/needs/", "/finished/", "/locked/"):
        if path == "/locked/":
            await room.context.request.post(f"{room.base_url}/chat/lock/", headers={"Origin": room.base_url})
        await room.go_to(path)
        await expect(room.leave_now).to_be_visible()
        await room.page.keyboard.press("Tab")
        await expect(room.leave_now).to_be_focused()
    await room.talk_to_a_person.click()
    await expect(room.page.get_by_role("heading", name="Talk to a person")).to_be_attached()
    await room.page.keyboard.press("Tab")
    await expect(room.leave_now).to_be_focused()

    await room.page.keyboard.press("Enter")
    await room.page.wait_for_url("**/empty/")

    assert end_reasons(rosa) == ["quick_exit"]


@pytest.mark.whole_browser
async def test_it_leads_to_the_page_of_the_sites_choice_and_nothing_else_leaves_our_origin(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    choose_exit(people, ELSEWHERE)
    room = await open_room()
    asked: list[Request] = []

    async def weather(route: Route) -> None:
        asked.append(route.request)
        await route.fulfill(content_type="text/html", body="<title>Weather</title>Rain.")

    await room.context.route("https://weather.example/**", weather)
    await tell_secret(room, rosa)
    await room.leave_now.click()
    await room.page.wait_for_url(ELSEWHERE)

    assert {urlsplit(url).netloc for url in room.requests} == {
        urlsplit(room.base_url).netloc,
        "weather.example",
    }
    [request] = [one for one in asked if one.is_navigation_request()]
    assert "referer" not in await request.all_headers()
    await room.back()
    await sees_nothing(room.page)
    room.complaints.clear()


@pytest.mark.parametrize("address", ["", ELSEWHERE])
async def test_without_scripts_the_press_ends_the_visit_and_leads_on(
    open_room: OpenRoom, people: People, address: str
) -> None:
    rosa = people.rosa
    choose_exit(people, address)
    room = await open_room(java_script_enabled=False)
    await room.context.route(
        "https://weather.example/**", lambda route: route.fulfill(content_type="text/html", body="Rain.")
    )
    await room.context.request.post(
        f"{room.base_url}/card/",
        form={"code": rosa.card.code},
        headers={"Origin": room.base_url},
        max_redirects=0,
    )
    await room.page.goto(f"{room.base_url}/chat/")

    await room.leave_now.click()

    await expect(room.page.get_by_text("Rain." if address else EMPTY)).to_be_visible()
    assert end_reasons(rosa) == ["quick_exit"]
    room.complaints.clear()


@pytest.mark.parametrize("address", ["javascript:alert(1)", *mark_long(["http://weather.example/"])])
async def test_without_scripts_the_press_leads_to_no_stored_address_but_one_of_https(
    open_room: OpenRoom, people: People, address: str
) -> None:
    rosa = people.rosa
    choose_exit(people, address)
    room = await (await open_room()).enter(rosa)

    answer = await room.context.request.post(f"{room.base_url}/chat/exit/", headers={"Origin": room.base_url})

    text = await answer.text()
    assert EMPTY in text and address not in text and "http-equiv" not in text
    assert end_reasons(rosa) == ["quick_exit"]


async def test_an_exit_that_the_service_does_not_confirm_shows_nothing_says_so_and_keeps_trying(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await tell_secret(await open_room(), rosa)
    second = await room.another_tab()
    await expect(second.page.get_by_text(SECRET)).to_be_visible()
    tabs = (room, second)
    answers = WrongAnswers("/chat/exit/")
    await answers.give(*tabs)

    await room.leave_now.click()

    for tab in tabs:
        await expect(tab.page.get_by_text(SECRET)).to_have_count(0, timeout=2_000)
        await sees_nothing(tab.page)
    for tab in tabs:
        await answers.until_all_given(tab)
        await expect(tab.page.get_by_text(NOT_ENDED)).to_be_visible()
        await expect(tab.page.get_by_role("link", name="Go to another page")).to_be_visible()
        assert await find_violations(tab.page) == []
        assert tab.page.url.endswith("/closing/")
    assert end_reasons(rosa) == [""]
    await answers.leave(room)
    for tab in tabs:
        await tab.page.wait_for_url("**/empty/", timeout=20_000)
    assert end_reasons(rosa) == ["quick_exit"]
    room.complaints.clear()
    second.complaints.clear()


@pytest.mark.parametrize("way", ["leave", *mark_long(["finish"])])
@pytest.mark.whole_browser
async def test_back_forward_and_the_cache_of_whole_pages_show_nothing_of_a_visit_that_is_over(
    open_room: OpenRoom, people: People, way: str
) -> None:
    rosa = people.rosa
    room = await open_room()
    page = room.page
    # The canary: this browser must bring a page back whole, or the test proves nothing.
    await page.goto(f"{room.base_url}/static/companion/mark.svg")
    await page.evaluate("() => { window.kept = true; }")
    await room.go_to("/card/")
    await room.back()
    assert await page.evaluate("window.kept") is True
    await tell_secret(room, rosa)
    # A walk to another page and back, with the whole chat in the cache.
    await room.go_to("/needs/")
    await room.back()
    await expect(room.turns).to_have_count(1)

    await (room.finished if way == "finish" else room.leave_now).click()
    await page.wait_for_url("**/finished/" if way == "finish" else "**/empty/")

    for step in (-1, 1, -2, 2, -1, -1):
        async with page.expect_event("framenavigated"):
            await page.evaluate("(step) => { setTimeout(() => history.go(step)); }", step)
        await room.until("document.readyState === 'complete'")
        await sees_nothing(page)
        await page.emulate_media(media="print")
        await sees_nothing(page)
        await page.emulate_media(media="screen")
    room.complaints.clear()


@pytest_asyncio.fixture(loop_scope="session")
async def profile_room(browser: Browser, service: Web, tmp_path: Path) -> AsyncIterator[Room]:
    """A tab of a browser whose profile is in a folder that can be read once it is closed."""
    context = await browser.browser_type.launch_persistent_context(
        tmp_path, executable_path=CHROMIUM, args=ARGUMENTS, ignore_default_args=LEFT_ON
    )
    yield Room(context.pages[0], service.url)
    await close_in_time(context.close())


@pytest.mark.parametrize("way", ["finish", *mark_long(["leave", "lock"])])
@pytest.mark.whole_browser
async def test_nothing_of_a_visit_is_in_the_files_of_the_browser(
    profile_room: Room, people: People, tmp_path: Path, way: str
) -> None:
    room, rosa = profile_room, people.rosa
    # The canary must be found afterwards, or this proves nothing.
    await room.context.route(
        "**/canary/**", lambda route: route.fulfill(content_type="text/html", body=CANARY_PAGE)
    )
    await room.go_to("/canary/")
    await room.go_to("/card/")
    await room.type_code(rosa)
    await room.ready()
    await room.ask(SECRET)
    await room.box.press_sequentially(DRAFT)

    if way == "lock":
        in_database(lambda: Visit.objects.filter(participant=rosa.row).update(locks_at="2020-01-01T00:00Z"))
        await room.page.wait_for_url("**/locked/")
    else:
        await (room.finished if way == "finish" else room.leave_now).click()
        await room.page.wait_for_url("**/finished/" if way == "finish" else "**/empty/")
    await close_in_time(room.context.close())

    with sqlite3.connect(f"file:{tmp_path}/Default/History?immutable=1", uri=True) as history:
        listed = " ".join(f"{url} {title}" for url, title in history.execute("SELECT url, title FROM urls"))
    assert CANARY in listed
    assert not any(words in listed for words in (rosa.card.code, "blue door", "Rosa", "Robin"))
    found = find_files_with(tmp_path, "green gate")
    assert len(found) > 1, found
    for words in ("blue door", rosa.card.code):
        assert find_files_with(tmp_path, words) == []
