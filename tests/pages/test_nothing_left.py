"""After the end of a visit nothing of it is left: not in Back, other tabs, storage, titles or autofill (A2, A5)."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.secret import SECRET
from tests.people import People

SIGNED_OUT = "You are signed out. Your words are not on this screen any more."
STORED = """async () => ({
  local: Object.keys(localStorage),
  session: Object.keys(sessionStorage),
  databases: (await indexedDB.databases()).map((database) => database.name),
  caches: await caches.keys(),
  workers: (await navigator.serviceWorker.getRegistrations()).length,
})"""
LEFT_BEHIND = {"local": [], "session": [], "databases": [], "caches": [], "workers": 0}


@pytest.mark.whole_browser
async def test_nothing_is_ever_in_the_browsers_storage(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    await room.box.fill("A draft.")

    assert await room.page.evaluate(STORED) == LEFT_BEHIND
    assert await room.page.evaluate("document.cookie") in ("", await _csrf_alone(room))
    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    assert await room.page.evaluate(STORED) == LEFT_BEHIND
    assert [cookie["name"] for cookie in await room.context.cookies()] in ([], ["csrftoken"])


async def _csrf_alone(room: Room) -> str:
    return "; ".join(
        f"{cookie['name']}={cookie['value']}"
        for cookie in await room.context.cookies()
        if cookie["name"] == "csrftoken"
    )


@pytest.mark.whole_browser
async def test_no_request_of_a_whole_visit_leaves_our_origin(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    await room.go_to("/")
    await room.enter_by_card(people.rosa)
    await room.ask(SECRET)
    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    hosts = {urlsplit(url).netloc for url in room.requests}
    assert hosts == {urlsplit(room.base_url).netloc}
    assert any(url.startswith("ws:") for url in room.requests)


@pytest.mark.whole_browser
async def test_titles_and_addresses_hold_nothing_of_what_was_said(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter_by_card(rosa)
    await room.ask(SECRET)

    assert await room.page.title() == "Chat"
    assert rosa.card.link not in room.page.url
    assert await room.page.evaluate("history.state") is None


@pytest.mark.whole_browser
async def test_no_field_offers_what_was_typed_before(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    kept = (
        "() => Array.from(document.querySelectorAll('form, textarea, input'), (field) => field.autocomplete)"
    )
    await room.go_to("/card/")
    code_page = await room.page.evaluate(kept)
    await room.enter_by_card(people.rosa)
    await room.box.fill("A draft.")
    assert "on" not in code_page + await room.page.evaluate(kept)

    await room.page.reload()
    await room.ready()

    # Within a visit the service gives the typed words back; the browser itself keeps none.
    await expect(room.box).to_have_value("A draft.")
    await room.finished.click()
    await room.page.wait_for_url("**/finished/")
    await room.enter_by_card(people.otto)
    await expect(room.box).to_have_value("")


async def test_finishing_in_one_tab_blanks_the_others_within_two_seconds(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    second = await room.another_tab()
    await expect(second.turns).to_have_count(1)
    await second.box.fill("A draft of " + SECRET)

    await room.finished.click()

    await expect(second.page.get_by_text(SIGNED_OUT)).to_be_visible(timeout=2_000)
    assert "blue door" not in await second.whole_text()
    await expect(second.page.get_by_role("main")).to_be_focused()


async def test_finishing_while_the_service_is_away_blanks_the_other_tabs_all_the_same(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    second = await room.another_tab()
    await expect(second.page.get_by_text(SECRET)).to_be_visible()
    await room.context.set_offline(True)

    await room.finished.click()

    # Nothing but the browser itself can carry the news.
    await expect(second.page.get_by_text(SECRET)).to_have_count(0, timeout=2_000)
    assert SECRET not in await second.whole_text()
    await room.context.set_offline(False)
    await room.page.wait_for_url("**/finished/")
    room.complaints.clear()
    second.complaints.clear()


@pytest.mark.whole_browser
async def test_ending_in_another_browser_blanks_this_one_within_two_seconds(
    open_room: OpenRoom, people: People
) -> None:
    # The same session in another profile: the news can only come from the service.
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    other = await open_room(storage_state=await room.context.storage_state())
    await other.go("/chat/")

    await room.finished.click()

    await expect(other.page.get_by_text(SIGNED_OUT)).to_be_visible(timeout=2_000)
    assert "blue door" not in await other.whole_text()
    await expect(other.page.get_by_role("link", name="Come in again")).to_be_visible()


@pytest.mark.whole_browser
async def test_a_tab_reopened_after_the_end_shows_nothing(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    second = await room.another_tab()
    await second.go_to("/card/")
    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    await second.back()

    assert "blue door" not in await second.whole_text()
    await expect(second.page.get_by_label("Type the code from your card")).to_be_visible()


@pytest.mark.whole_browser
async def test_the_back_forward_cache_of_this_browser_is_on(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    await room.page.goto(f"{room.base_url}/static/companion/mark.svg")
    # A page of our own that may be cached whole: it must come back whole, or the tests beside this one prove nothing.
    await room.page.evaluate("() => { window.kept = true; }")
    await room.go_to("/card/")
    await room.back()

    assert await room.page.evaluate("window.kept") is True
    # A picture has no icon of its own, and the browser looked for one.
    room.complaints.clear()


@pytest.mark.whole_browser
async def test_a_page_that_the_browser_keeps_whole_is_kept_empty_and_comes_back_only_to_its_owner(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    await room.box.fill("A draft.")

    await _leave(room)
    assert "blue door" not in await room.whole_text()
    assert "A draft." not in await room.whole_text()
    await _return(room)

    await expect(room.turns).to_have_count(1)
    await expect(room.box).to_have_value("A draft.")


@pytest.mark.whole_browser
async def test_a_kept_page_of_a_visit_that_is_over_comes_back_empty(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    await room.box.fill("A draft.")
    second = await open_room(storage_state=await room.context.storage_state())
    await second.go("/chat/")

    await _leave(room)
    await second.finished.click()
    await second.page.wait_for_url("**/finished/")
    shown: list[Any] = await _return(room)
    await expect(room.page.get_by_text(SIGNED_OUT)).to_be_visible()

    assert "blue door" not in "".join(shown) + await room.whole_text()
    assert "A draft." not in await room.whole_text()


@pytest.mark.whole_browser
async def test_another_persons_card_on_the_same_machine_shows_neither_to_the_other(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask(SECRET)
    await room.box.fill("A draft of mine.")
    otto = people.otto

    second = await Room(await room.context.new_page(), room.base_url).enter_by_card(otto)
    await room.until("!document.documentElement.textContent.includes('blue door')")

    await expect(second.turns).to_have_count(0)
    assert "A draft of mine." not in await room.whole_text()
    assert otto.turns() == []


async def _leave(room: Room) -> None:
    """What a browser does to a page that it keeps."""
    await room.page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")


async def _return(room: Room) -> list[Any]:
    """What a browser does to a page that it shows again; returns the text of each of the next frames."""
    shown: list[Any] = await room.page.evaluate(
        """async () => {
          dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
          document.dispatchEvent(new Event("visibilitychange"));
          const shown = [];
          for (let frame = 0; frame < 20; frame++) {
            await new Promise(requestAnimationFrame);
            shown.push(document.documentElement.textContent);
          }
          return shown;
        }"""
    )
    return shown
