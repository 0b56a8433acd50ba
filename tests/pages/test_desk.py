"""The desk in a browser, on a desktop and a phone: flags ring, people are live, a person steps in (S2, S4, S10)."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from django.contrib.auth.models import User
from playwright.async_api import Browser, Locator, Page, expect

from companion.models import Flag, TranscriptEntry
from ops.models import Supervision
from tests.desk_socket import sign_staff_in
from tests.page_socket import Page as Socket
from tests.pages.conftest import OpenRoom
from tests.pages.door import Door
from tests.pages.leaving import close_in_time
from tests.pages.test_staff_turns import LOOKS, MARKUP, is_sound, open_staff_page
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.staff import play_broken_turn, store_flag

DANGER = "I am going to kill myself tonight."
DESKTOP: dict[str, Any] = {"viewport": {"width": 1200, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
SIDEWAYS: dict[str, Any] = {"viewport": {"width": 640, "height": 320}, "has_touch": True, "is_mobile": True}
ZOOMED: dict[str, Any] = {"viewport": {"width": 320, "height": 256}}

OpenDesk = Callable[..., Awaitable["Screen"]]


@dataclass(kw_only=True)
class Screen:
    """One screen of a member of staff."""

    page: Page
    user: User

    async def go(self, path: str) -> "Screen":
        """Open a page for staff, and wait until its scripts are connected."""
        await self.page.goto(path)
        await expect(self.page.locator("[data-bell]")).to_have_attribute("data-connected", "")
        return self

    async def open(self, person: Person) -> "Screen":
        """Open the page of a person."""
        return await self.go(page_of(person))

    @property
    def ringing(self) -> Locator:
        return self.page.locator("[data-bell-flags] > [data-flag][data-state=open]")

    @property
    def fold(self) -> Locator:
        """The one line of the bell on a small screen."""
        return self.page.locator("[data-bell-fold]")

    @property
    def words(self) -> Locator:
        return self.page.get_by_label(re.compile("^Write as"))

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def take_over(self) -> None:
        """Take over, and wait until it is so."""
        await self.button("Take over").click()
        await self.page.get_by_role("button", name=re.compile("^Take over as")).click()
        await expect(self.words).to_be_focused()


def page_of(person: Person) -> str:
    return f"/ops/people/{person.conversation.pk}/"


@pytest_asyncio.fixture(loop_scope="session")
async def open_desk(browser: Browser, service: Web, people: People) -> AsyncIterator[OpenDesk]:
    """Open a screen of a supervisor of this test's site, in a browser profile of its own."""
    async with open_screens(browser, service, people) as opener:
        yield opener


@asynccontextmanager
async def open_screens(browser: Browser, service: Web, people: People) -> AsyncIterator[OpenDesk]:
    screens: list[Page] = []
    complaints: list[str] = []

    async def open_screen(name: str = "sam", *, base_url: str = service.url, **profile: Any) -> Screen:
        user = in_database(lambda: people.add_supervisor(name))
        context = await browser.new_context(base_url=base_url, **(profile or DESKTOP))
        cookie = await asyncio.to_thread(sign_staff_in, service, people, user)
        await context.add_cookies([{"name": "companion", "value": cookie, "url": base_url}])
        page = await context.new_page()
        screens.append(page)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return Screen(page=page, user=user)

    yield open_screen
    for page in screens:
        await close_in_time(page.context.close())
    assert complaints == []


async def test_a_worrying_sentence_rings_on_two_screens_and_one_person_steps_in_and_hands_back(
    open_desk: OpenDesk, open_room: OpenRoom, people: People
) -> None:
    rosa, ada = people.rosa, people.add_participant("Ada")
    sam, tess = await open_desk("sam"), await open_desk("tess", **PHONE)
    await sam.go("/ops/people/")
    await tess.go("/ops/routing/")
    plain = await sam.page.locator("link[rel=icon]").get_attribute("href")
    await sam.button("Switch the sound on").click()
    await expect(sam.page.locator("[data-sound-says]")).to_have_text("The sound is on.")
    rooms = [await (await open_room()).enter(person) for person in (rosa, ada)]

    await rooms[0].say(DANGER)

    for screen in (sam, tess):
        await expect(screen.ringing).to_contain_text("Rosa")
        await expect(screen.page).to_have_title(re.compile(r"^\(1\) RINGS – "))
        assert await screen.page.locator("link[rel=icon]").get_attribute("href") != plain
    # The list says it too, and no list holds the words.
    await expect(sam.page.locator("[data-person]", has_text="Rosa")).to_contain_text("Red flag")
    assert "kill" not in await sam.page.content()
    flag = in_database(lambda: Flag.objects.get(participant=rosa.row.pk, tier="red"))
    assert flag.seen_at is not None

    await tess.fold.tap()
    await tess.button("Accept").tap()

    await expect(sam.page.locator("[data-bell-flags]")).to_contain_text("Accepted by tess")
    for screen in (sam, tess):
        await expect(screen.ringing).to_have_count(0)
        await expect(screen.page).to_have_title(re.compile(r"^(?!\().* – Staff$"))
    await sam.page.locator("[data-people]").get_by_role("link", name="Rosa").click()
    await tess.open(rosa)
    # The words are behind one press.
    shown = tess.page.get_by_text(DANGER)
    await expect(shown).to_be_hidden()
    await tess.page.get_by_text("Show what Rosa wrote").tap()
    await expect(shown).to_be_visible()

    await tess.take_over()
    await tess.words.fill("Good day, Rosa.")
    await tess.words.press("Enter")

    await expect(tess.words).to_have_value("")
    await expect(sam.page.get_by_text("Good day, Rosa.")).to_be_visible()
    await expect(sam.page.locator("[data-standing]")).to_have_text(re.compile("^tess.* has taken over"))
    await expect(sam.button("Take over")).to_be_hidden()
    # The other person is not concerned.
    await rooms[1].ask("Good morning.")

    await tess.button("Hand back").tap()

    await expect(tess.button("Take over")).to_be_focused()
    await expect(sam.page.get_by_text("handed back")).to_be_visible()
    await expect(sam.button("Take over")).to_be_visible()


async def test_words_come_live_and_a_half_answer_is_marked(
    open_desk: OpenDesk, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    sam = await (await open_desk()).open(rosa)
    rehearsal.inject({"pace_ms": 40, "words": 60, "cut": "reset", "after": 40}, times=1)
    async with Socket(service.socket_url, rosa.sign_in(service.url)) as socket:
        await socket.say("What helps against fear?")
        reply = sam.page.locator('[data-item="turn"] [data-part="reply"]')
        await expect(reply).not_to_be_empty()
        before = await reply.text_content() or ""
        await expect(reply).not_to_have_text(before)
        await socket.ending()
    await expect(sam.page.get_by_text("A half answer.")).to_be_visible()
    [turn] = rosa.turns()
    await expect(reply).to_have_text(turn.reply)
    await expect(sam.page.get_by_text("What helps against fear?")).to_be_visible()


async def test_a_flag_is_accepted_noted_and_closed_with_the_keyboard_alone(
    open_desk: OpenDesk, people: People
) -> None:
    rosa = people.rosa
    flag = store_flag(rosa)
    sam = await (await open_desk()).open(rosa)
    item = sam.page.locator(f'[data-item="flag"][data-id="{flag.pk}"]')
    keys = sam.page.keyboard

    await item.get_by_role("button", name="Accept").focus()
    await keys.press("Enter")
    await expect(item).to_contain_text("Accepted by sam")
    # The focus is at the flag, whose form comes next.
    await expect(item).to_be_focused()
    await keys.press("Tab")
    await keys.type("She slept badly.")
    await keys.press("Tab")
    await keys.press("Enter")
    await expect(item.locator("q")).to_have_text("She slept badly.")
    await keys.press("Shift+Tab")
    await keys.type("She had tea.")
    await keys.press("Tab")
    await keys.press("Tab")
    await keys.press("ArrowDown")
    await keys.press("Tab")
    await keys.press("Enter")

    await expect(item).to_contain_text("Closed: No concern")
    stored = in_database(lambda: Flag.objects.get(pk=flag.pk))
    assert (stored.state, stored.outcome) == ("closed", "no_concern")


async def test_of_two_who_take_over_one_has_it_and_the_other_reads_who(
    open_desk: OpenDesk, people: People
) -> None:
    rosa = people.rosa
    sam, tess = await (await open_desk()).open(rosa), await (await open_desk("tess")).open(rosa)
    for screen in (sam, tess):
        await screen.button("Take over").click()
    await asyncio.gather(
        *(
            screen.page.get_by_role("button", name=re.compile("^Take over as")).click(timeout=5_000)
            for screen in (sam, tess)
        ),
        # The slower one may find that the button is gone already.
        return_exceptions=True,
    )

    for screen in (sam, tess):
        await expect(screen.page.locator("[data-standing]")).to_contain_text("taken over")
    entry = in_database(lambda: TranscriptEntry.objects.get(conversation=rosa.conversation, kind="joins"))
    owner, other = (sam, tess) if entry.person == sam.user.pk else (tess, sam)
    await expect(owner.words).to_be_visible()
    await expect(other.page.locator("[data-standing]")).to_contain_text(f"{entry.name} has taken over")
    await expect(other.words).to_be_hidden()


async def test_words_that_cannot_be_sent_stay_and_are_sent_once_when_the_line_is_back(
    open_desk: OpenDesk, service: Web, people: People, door: Door
) -> None:
    rosa = people.rosa
    rosa.sign_in(service.url)
    sam = await (await open_desk(base_url=door.url)).open(rosa)
    await sam.take_over()

    await sam.words.fill("x" * 4_001)
    await expect(sam.page.locator("[data-problem]")).to_contain_text("at most 4,000 characters")
    await sam.words.press("Enter")
    assert len(await sam.words.input_value()) == 4_001
    await sam.words.fill("I am here.")
    await door.shut()
    await sam.words.press("Enter")
    await expect(sam.page.locator("[data-problem]")).to_contain_text("Your words stay here")
    await expect(sam.words).to_have_value("I am here.")
    await door.open()

    await expect(sam.words).to_have_value("", timeout=30_000)
    said = in_database(
        lambda: TranscriptEntry.objects.filter(conversation=rosa.conversation, kind="said").count()
    )
    assert said == 1


async def test_a_pause_says_who_and_why_and_is_resumed_on_the_shift_page(
    open_desk: OpenDesk, people: People
) -> None:
    rosa = people.rosa
    sam = await (await open_desk()).open(rosa)
    await sam.button("Pause").click()
    await expect(sam.page.get_by_label(re.compile("^Why"))).to_be_focused()
    await sam.page.keyboard.type("Rosa asked for rest")
    await sam.page.keyboard.press("Enter")
    await expect(sam.page.locator("[data-standing]")).to_have_text("Robin is paused.")
    await expect(sam.button("Resume for this person")).to_be_visible()

    await sam.go("/ops/shift/")
    pauses = sam.page.get_by_role("region", name="Pauses in force")
    await expect(pauses).to_contain_text("Rosa asked for rest")
    await pauses.get_by_role("button", name="Resume").click()
    await expect(pauses).to_contain_text("Resumed.")


async def test_a_flag_is_handed_over_and_stays_with_its_owner_until_it_is_taken_on_by_name(
    open_desk: OpenDesk, people: People
) -> None:
    sam, tess = await open_desk("sam"), await open_desk("tess")
    flag = store_flag(people.rosa)
    await sam.go("/ops/shift/")
    await sam.page.locator("main").get_by_role("button", name="Accept").click()
    await expect(sam.page.get_by_text("It is yours.")).to_be_focused()
    await sam.go("/ops/shift/")
    await sam.page.get_by_label("Hand over to").select_option(str(tess.user.pk))
    await sam.button("Hand over").click()
    await expect(sam.page.get_by_text("It stays yours until")).to_be_visible()
    assert in_database(lambda: Flag.objects.get(pk=flag.pk)).owner == sam.user.pk

    await tess.go("/ops/shift/")
    await tess.page.get_by_role("button", name=re.compile("^Take it on as tess")).click()

    await expect(tess.page.get_by_text("It is yours now.")).to_be_visible()
    assert in_database(lambda: Flag.objects.get(pk=flag.pk)).owner == tess.user.pk


@pytest.mark.parametrize("small", [PHONE, SIDEWAYS, ZOOMED], ids=["phone", "sideways", "zoomed"])
async def test_on_a_small_screen_the_bell_is_one_line_that_a_press_opens(
    open_desk: OpenDesk, people: People, small: dict[str, Any]
) -> None:
    rosa = people.rosa
    store_flag(rosa)
    store_flag(people.add_participant("Ada"))
    store_flag(rosa, tier="amber", kind="not-eating", source="message")
    sam = await (await open_desk(**small)).open(rosa)
    accept = sam.page.locator("[data-bell]").get_by_role("button", name="Accept")
    await expect(sam.fold).to_have_text(re.compile(r"^\s*3 flags, 2 red\s+silent\s*$"))
    assert await height(sam.page.locator("[data-bell]")) < 80
    says, trouble = (
        await top(sam.page.locator("[data-bell-says]")),
        await top(sam.page.locator("[data-bell-trouble]")),
    )
    assert abs(says - trouble) < 10
    # It stays in sight.
    await sam.page.mouse.wheel(0, 2_000)
    await expect(sam.fold).to_be_in_viewport(ratio=1)
    await expect(accept.first).to_be_hidden()

    await sam.fold.press("Enter")

    await expect(sam.fold).to_have_attribute("aria-expanded", "true")
    await accept.first.click()
    await expect(sam.fold).to_have_text(re.compile(r"^\s*2 flags, 1 red\s+silent\s*$"))
    await expect(sam.button("Switch the sound on")).to_be_visible()
    assert await height(sam.page.locator("[data-bell]")) <= small["viewport"]["height"]
    await sam.page.keyboard.press("Escape")
    await expect(sam.fold).to_be_focused()
    await expect(accept.first).to_be_hidden()


async def top(place: Locator) -> float:
    box = await place.bounding_box()
    assert box is not None
    return box["y"]


async def height(place: Locator) -> float:
    box = await place.bounding_box()
    assert box is not None
    return box["height"]


async def test_what_happens_later_stands_below_whatever_it_is(
    open_desk: OpenDesk, service: Web, people: People
) -> None:
    rosa = people.rosa
    async with Socket(service.socket_url, rosa.sign_in(service.url)) as socket:
        await socket.say(DANGER)
        await socket.ending()
        sam = await (await open_desk(**PHONE)).open(rosa)
        await sam.take_over()
        await sam.words.fill("I am here.")
        await sam.words.press("Enter")
        said = sam.page.locator('[data-item="entry"]', has_text="I am here.")
        await expect(said).to_be_in_viewport()
        await socket.send({"type": "help"})
        help_flag = sam.page.locator('[data-item="flag"]', has_text="Wants to talk to a person")
        await expect(help_flag).to_be_visible()
        await expect(sam.page.locator('[data-item="entry"][data-entry="help"]')).to_be_visible()
    # A press is a flag and its answer at one moment, in either order.
    *kinds, one, other = await item_kinds(sam.page)
    assert kinds == ["turn", "flag", "joins", "said"]
    assert {one, other} == {"flag", "help"}

    await sam.open(rosa)

    *again, one, other = await item_kinds(sam.page)
    assert (again, {one, other}) == (kinds, {"flag", "help"})


async def test_a_person_who_took_over_reads_that_the_participant_has_left(
    open_desk: OpenDesk, service: Web, people: People
) -> None:
    rosa = people.rosa
    async with Socket(service.socket_url, rosa.sign_in(service.url)):
        sam = await (await open_desk()).open(rosa)
        await sam.take_over()
        standing = sam.page.locator("[data-standing]")
        await expect(standing).to_have_text("You have taken over. Rosa reads what you write.")
    await expect(standing).to_contain_text("Rosa has no page open", timeout=30_000)


async def test_a_reader_is_where_they_were_after_an_outage(
    open_desk: OpenDesk, people: People, door: Door
) -> None:
    rosa = people.rosa
    for number in range(6):
        store_flag(rosa, kind=f"kind-{number}")
    sam = await (await open_desk(base_url=door.url, **PHONE)).open(rosa)
    await sam.page.evaluate("scrollTo(0, 300)")
    main = sam.page.locator("#main")
    await door.shut()
    await expect(main).to_have_attribute("data-concealed", "", timeout=30_000)
    await door.open()
    await expect(main).not_to_have_attribute("data-concealed", "", timeout=30_000)
    # The browser keeps the words in place, so a bell that is a few pixels higher moves the number.
    assert abs(await sam.page.evaluate("scrollY") - 300) <= 24


async def item_kinds(page: Page) -> list[str]:
    """What stands in the conversation beside visits, from the top."""
    found: list[str] = await page.locator('[data-item]:not([data-item="visit"])').evaluate_all(
        "(nodes) => nodes.map((node) => node.dataset.entry ?? node.dataset.item)"
    )
    return found


async def test_a_wide_screen_shows_every_flag_without_a_press(open_desk: OpenDesk, people: People) -> None:
    store_flag(people.rosa)
    sam = await (await open_desk()).go("/ops/routing/")
    await expect(sam.page.locator("[data-bell]").get_by_role("button", name="Accept")).to_be_visible()
    await expect(sam.fold).to_be_hidden()


async def test_flags_and_speakers_have_plain_names(open_desk: OpenDesk, service: Web, people: People) -> None:
    rosa = people.rosa
    async with Socket(service.socket_url, rosa.sign_in(service.url)) as socket:
        await socket.say(DANGER)
        await socket.ending()
    sam = await (await open_desk()).open(rosa)
    await expect(sam.ringing).to_contain_text("Red flag: Speaks of ending their life")
    await expect(sam.page.locator('[data-item="flag"]')).to_contain_text("Speaks of ending their life")
    await expect(sam.page.get_by_role("heading", name="Robin", exact=True)).to_have_count(1)
    await expect(sam.button("Let Robin speak again")).to_be_visible()


async def test_the_list_of_people_moves_neither_focus_nor_scroll(
    open_desk: OpenDesk, service: Web, people: People
) -> None:
    for name in ("Bea", "Cleo", "Dora", "Emma", "Fay", "Gwen"):
        people.add_participant(name).sign_in(service.url)
    sam = await (await open_desk(**PHONE)).go("/ops/people/")
    link = sam.page.get_by_role("link", name="Fay")
    await link.focus()
    top = await sam.page.evaluate("scrollY")

    people.add_participant("Ada").sign_in(service.url)

    await expect(sam.page.get_by_role("link", name="Ada")).to_be_visible()
    await expect(link).to_be_focused()
    assert abs(await sam.page.evaluate("scrollY") - top) < 200


async def test_a_withdrawn_right_empties_the_page_and_the_bell(open_desk: OpenDesk, people: People) -> None:
    rosa = people.rosa
    store_flag(rosa)
    sam = await (await open_desk()).open(rosa)
    await expect(sam.ringing).to_contain_text("Rosa")

    in_database(lambda: Supervision.objects.filter(user=sam.user).delete())

    await expect(sam.page.get_by_text("Rosa")).to_have_count(0)
    await expect(sam.page.get_by_role("heading", level=1)).to_be_visible()
    await expect(sam.page.get_by_text("Rosa")).to_have_count(0)


async def test_without_scripts_the_desk_is_a_list_with_links(
    browser: Browser, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    turn = await play_broken_turn(service, rosa, rehearsal)
    store_flag(rosa)
    cookie = await asyncio.to_thread(sign_staff_in, service, people, sam)
    async with open_staff_page(browser, service, java_script_enabled=False) as page:
        await page.context.add_cookies([{"name": "companion", "value": cookie, "url": service.url}])
        await page.goto("/ops/people/")
        await expect(page.locator("[data-bell-flags]")).to_contain_text("Wants to talk to a person")
        await page.locator("[data-people]").get_by_role("link", name="Rosa").click()
        await expect(page.get_by_text(turn.reply, exact=True)).to_be_visible()
        await expect(page.get_by_text("needs scripts")).to_be_visible()
        await expect(page.get_by_role("button", name="Take over")).to_have_count(0)


@pytest.mark.parametrize("look", LOOKS)
async def test_every_page_of_the_desk_is_sound_in_every_look(
    open_desk: OpenDesk, service: Web, people: People, rehearsal: Rehearsal, look: dict[str, Any]
) -> None:
    rosa = people.rosa
    turn = await play_broken_turn(service, rosa, rehearsal, question=MARKUP)
    sam = await open_desk(**look)
    store_flag(rosa, turn=turn.pk)
    owned = store_flag(rosa, turn=turn.pk, tier="amber", kind="not_eating", source="message")
    in_database(lambda: Flag.objects.filter(pk=owned.pk).update(**accepted_by(sam.user)))
    await sam.go("/ops/people/")
    await expect(sam.page.locator("[data-people] [data-person]")).to_have_count(1)
    await is_sound(sam.page)
    await sam.open(rosa)
    await expect(sam.page.get_by_text(MARKUP, exact=True)).to_have_count(1)
    await is_sound(sam.page)
    await sam.take_over()
    await is_sound(sam.page)
    await sam.button("Hand back").click()
    await sam.button("Pause").click()
    await is_sound(sam.page)
    for path in ("/ops/shift/", "/ops/record/?who=&person=Rosa"):
        await sam.go(path)
        await is_sound(sam.page)


def accepted_by(user: User) -> dict[str, Any]:
    from django.utils import timezone

    return {
        "state": "accepted",
        "owner": user.pk,
        "owner_name": user.get_username(),
        "accepted_at": timezone.now(),
    }
