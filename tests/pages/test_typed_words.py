"""What is typed and not sent outlives the visit, for its writer alone; no other person ever sees it."""

import httpx
from django.utils.timezone import now
from playwright.async_api import Page, expect

from companion import drafts
from companion.models import Draft, Visit
from tests.pages.conftest import OpenRoom
from tests.patience import until
from tests.people import People, Person, finish_visit, in_database
from tests.processes import Web

TYPED = "I wanted to tell you about the blue door"
SIGNED_OUT = "You are signed out."


def kept(person: Person) -> list[str]:
    return in_database(
        lambda: list(Draft.objects.filter(conversation=person.conversation).values_list("text", flat=True))
    )


def expire(person: Person) -> None:
    in_database(lambda: Visit.objects.filter(participant=person.row).update(expires_at=now()))


async def test_an_expired_visit_keeps_the_typed_words_for_the_same_person(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.box.press_sequentially(TYPED)

    expire(rosa)
    await expect(room.page.get_by_text(SIGNED_OUT)).to_be_visible(timeout=40_000)
    assert "blue door" not in await room.whole_text()
    await room.enter_by_card(rosa)

    await expect(room.box).to_have_value(TYPED)
    await room.ask("Hello.")
    await until(lambda: kept(rosa) == [""])


async def test_the_words_come_back_on_another_machine_and_are_not_offered_again_once_sent(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    first = await (await open_room()).enter(rosa)
    await first.box.fill(TYPED)
    await until(lambda: kept(rosa) == [TYPED])
    expire(rosa)
    await expect(first.page.get_by_text(SIGNED_OUT)).to_be_visible(timeout=40_000)

    second = await (await open_room()).enter(rosa)
    await expect(second.box).to_have_value(TYPED)
    await second.send.click()
    await second.becomes(second.turns.first, "complete")
    await until(lambda: kept(rosa) == [""])

    third = await (await open_room()).enter(rosa)
    await expect(third.turns).to_have_count(1)
    await expect(third.box).to_have_value("")


async def test_the_next_person_at_the_machine_sees_nothing_of_them(
    open_room: OpenRoom, people: People
) -> None:
    rosa, otto = people.rosa, people.otto
    room = await (await open_room()).enter(rosa)
    await room.box.fill(TYPED)
    expire(rosa)
    await expect(room.page.get_by_text(SIGNED_OUT)).to_be_visible(timeout=40_000)

    await room.enter_by_card(otto)

    await expect(room.box).to_have_value("")
    assert "blue door" not in await room.whole_text()
    assert kept(otto) == []


async def test_words_on_a_page_that_was_left_open_are_never_kept_for_the_one_who_signed_in_since(
    open_room: OpenRoom, people: People, service: Web
) -> None:
    rosa, otto = people.rosa, people.otto
    cookie = otto.sign_in(service.url)
    form = {"conversation": str(rosa.conversation.pk), "text": TYPED}

    async with httpx.AsyncClient(
        base_url=service.url, cookies={"companion": cookie}, trust_env=False, verify=False
    ) as browser:
        await browser.get("/chat/")
        form["csrfmiddlewaretoken"] = browser.cookies["csrftoken"]
        answer = await browser.post("/chat/draft/", data=form, headers={"Origin": service.url})
        read = (await browser.get("/chat/draft/")).json()

    assert answer.json() == {"kept": False}
    assert kept(rosa) == kept(otto) == []
    assert read == {"conversation": otto.conversation.pk, "text": ""}


async def test_a_participant_who_finishes_leaves_no_typed_words(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.box.fill(TYPED)
    await until(lambda: kept(rosa) == [TYPED])

    await room.finished.click()
    await room.page.wait_for_url("**/finished/")

    assert kept(rosa) == []
    await room.enter_by_card(rosa)
    await expect(room.box).to_have_value("")


async def test_a_visit_that_was_ended_elsewhere_hands_no_words_over(
    open_room: OpenRoom, people: People, service: Web
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.box.fill(TYPED)
    [cookie] = [one for one in await room.context.cookies() if one.get("name") == "companion"]

    finish_visit(service.url, cookie["value"])
    await expect(room.page.get_by_text(SIGNED_OUT)).to_be_visible(timeout=40_000)

    await _at_rest(room.page)
    assert kept(rosa) == []


async def test_typed_words_are_dropped_when_their_writer_does_not_return(people: People) -> None:
    rosa, otto = people.rosa, people.otto
    for person, hours in ((rosa, 73), (otto, 71)):
        in_database(
            lambda person=person: Draft.objects.create(  # type: ignore[misc]
                conversation=person.conversation, visit="00000000-0000-4000-8000-000000000000", text=TYPED
            )
        )
        in_database(
            lambda person=person, hours=hours: _age(person, hours)  # type: ignore[misc]
        )

    in_database(drafts.delete_old)

    assert (kept(rosa), kept(otto)) == ([], [TYPED])


def _age(person: Person, hours: int) -> None:
    from datetime import timedelta

    Draft.objects.filter(conversation=person.conversation).update(saved_at=now() - timedelta(hours=hours))


async def _at_rest(page: Page) -> None:
    """Until nothing of this page is on its way to the service any more."""
    await page.wait_for_load_state("networkidle")
