"""A locked page: its words come back to the same person alone, and any other ends the visit (A2, S3)."""

import uuid

import pytest
from playwright.async_api import expect

from companion.models import Draft, Flag, Visit
from tests.machines import last_visit
from tests.pages.conftest import OpenRoom
from tests.pages.idling import LOCKED, let_time_pass, lock
from tests.pages.secret import DRAFT, SECRET, tell_secret
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Rehearsal


async def test_a_reply_under_way_goes_on_behind_the_lock_and_is_there_afterwards(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"pace_ms": 100, "words": 80}, times=1)
    turn = await room.say(SECRET)
    await expect(room.reply(turn)).not_to_be_empty()

    await lock(room, rosa)
    await until(lambda: [one.state for one in rosa.turns()] == ["complete"], within_s=40)
    await room.press_pictures(*rosa.card.pictures)
    await room.ready()

    shown = await room.text_of(room.reply(room.turns.first))
    assert shown == rosa.turns()[0].reply.strip()


async def test_three_wrong_choices_of_pictures_leave_the_code_alone(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await lock(room, rosa)

    for _ in range(3):
        async with room.page.expect_event("framenavigated"):
            await room.press_pictures(*reversed(rosa.card.pictures))
        await expect(room.page.get_by_role("alert")).to_be_visible()
    await expect(room.page.get_by_role("button", name="Apple", exact=True)).to_have_count(0)
    answer = await room.context.request.post(
        f"{room.base_url}/locked/",
        form=dict(zip(("first", "second"), rosa.card.pictures, strict=True)),
        headers={"Origin": room.base_url},
    )
    assert answer.status == 403

    await room.type_code(rosa)
    await room.ready()
    # The card itself is not barred: another machine takes its pictures.
    await (await open_room()).enter_by_card(rosa)
    room.complaints.clear()


@pytest.mark.whole_browser
async def test_the_next_person_at_a_locked_page_sees_nothing_and_ends_the_visit(
    open_room: OpenRoom, people: People
) -> None:
    rosa, otto = people.rosa, people.otto
    room = await tell_secret(await open_room(), rosa)
    await lock(room, rosa)
    visit = last_visit(rosa)

    await room.type_code(otto)
    await room.ready()

    assert "blue door" not in await room.whole_text()
    assert in_database(lambda: Visit.objects.get(pk=visit.pk)).end_reason == "idle"
    # Kept for its writer.
    assert in_database(lambda: Draft.objects.get(conversation=rosa.conversation)).text
    assert in_database(lambda: Draft.objects.filter(conversation=otto.conversation).count()) == 0


async def test_someone_else_ends_the_locked_visit_and_the_words_stay_with_their_writer(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await room.box.fill(DRAFT)
    await lock(room, rosa)

    await room.page.get_by_role("button", name="I am someone else").click()
    await room.page.wait_for_url("**/card/")

    assert last_visit(rosa).end_reason == "idle"
    await room.back()
    assert "blue door" not in await room.whole_text()
    other = await (await open_room()).enter(rosa)
    await expect(other.box).to_have_value(DRAFT)


async def test_a_person_can_be_asked_for_from_the_locked_page(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    await lock(room, rosa)

    await room.talk_to_a_person.click()
    await expect(room.page.get_by_role("heading", name="Talk to a person")).to_be_attached()

    flags = in_database(
        lambda: list(Flag.objects.filter(conversation=rosa.conversation).values_list("tier", "kind"))
    )
    assert flags == [("red", "help")]
    # The chat is behind the lock, and the page says what leads there.
    await expect(room.page.get_by_role("link", name="Go to the chat")).to_have_count(0)
    await room.page.get_by_role("link", name="Come back with your card").click()
    await expect(room.page.get_by_text(LOCKED)).to_be_visible()
    await room.go_to("/finished/")
    await expect(room.page.get_by_role("link", name="Come back with your card")).to_be_visible()


async def test_a_message_into_a_locked_visit_is_not_taken(open_room: OpenRoom, people: People) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    # The sweep has not come round: the row alone says that its time is over.
    let_time_pass(rosa)
    await room.page.evaluate(
        """(key) => new Promise((resolve) => {
          const socket = new WebSocket(location.href.replace(/^http/, "ws").replace("/chat/", "/ws/chat/"));
          socket.onclose = ({ code }) => resolve(code);
          socket.onopen = () => socket.send(JSON.stringify({ type: "say", key, text: "Hello." }));
        })""",
        str(uuid.uuid4()),
    )

    assert rosa.turns() == []
