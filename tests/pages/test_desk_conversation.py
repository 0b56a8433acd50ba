"""A conversation in a staff browser: words come live, a person steps in, and nothing typed is lost (S4, S5)."""

import asyncio
import re

from playwright.async_api import Page, expect

from companion.models import TranscriptEntry
from tests.page_socket import Page as Socket
from tests.pages.door import Door
from tests.pages.staff_screens import (
    DANGER,
    PHONE,
    OpenDesk,
)
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import store_flag


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
