"""A question that was kept past its hold is offered back: *Ask it again*, *Let it go* (T8)."""

import pytest
from playwright.async_api import Locator, expect

from tests.long_forms import mark_long
from tests.pages.conftest import OpenRoom
from tests.pages.room import Room
from tests.pages.script import Script, snapshot
from tests.people import People
from tests.processes import Rehearsal, Web
from tests.staff import expire_hold, play_broken_turn

QUESTION = "What helps against fear?"
LONG_QUESTION = "What can I do when the nights are long, and I think of home until it is light outside?"
KEPT = "I did not come back to this in time. You can ask it again, or let it go."

IN_SIGHT = """() => {
  const shows = (node) => {
    const box = node.getBoundingClientRect();
    const at = (y) => document.elementFromPoint(box.left + 30, y);
    return node.contains(at(box.top + 2)) && node.contains(at(box.bottom - 2));
  };
  return [...document.querySelectorAll("[data-kept] h2, [data-kept] button, [data-kept-problem]:not([hidden])")]
    .every(shows);
}"""


def offer(room: Room) -> Locator:
    return room.page.get_by_role("group", name=KEPT)


async def test_it_is_asked_again_with_one_press_and_goes_from_every_tab(
    open_room: OpenRoom, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    expire_hold(await play_broken_turn(service, rosa, rehearsal, question=QUESTION))
    room = await (await open_room()).enter(rosa)
    other = await room.another_tab()
    await expect(offer(room)).to_contain_text(QUESTION)
    await expect(offer(other)).to_contain_text(QUESTION)

    await offer(room).get_by_role("button", name="Ask it again").dblclick()
    turn = await room.becomes(room.turns.nth(1), "complete")

    await expect(room.question(turn)).to_have_text(QUESTION)
    await expect(room.turns).to_have_count(2)
    await expect(offer(room)).to_be_hidden()
    await expect(offer(other)).to_be_hidden()
    await expect(other.turns).to_have_count(2)
    await expect(room.box).to_be_focused()
    await room.page.reload()
    await room.ready()
    await expect(offer(room)).to_be_hidden()


async def test_it_is_let_go_by_keyboard_and_the_next_one_is_offered(
    open_room: OpenRoom, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    for question in ("First question?", "Second question?"):
        expire_hold(await play_broken_turn(service, rosa, rehearsal, question=question))
    room = await (await open_room()).enter(rosa)
    await expect(offer(room)).to_contain_text("First question?")

    let_go = offer(room).get_by_role("button", name="Let it go")
    await let_go.press("Enter")
    await expect(offer(room)).to_contain_text("Second question?")
    await expect(let_go).to_be_focused()
    await let_go.press("Enter")
    await expect(offer(room)).to_be_hidden()

    await expect(room.box).to_be_focused()
    assert [turn.settled for turn in rosa.turns()] == ["let_go", "let_go"]


async def test_an_offer_that_comes_to_an_open_page_is_heard_once_and_moves_no_focus(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.box.focus()
    kept = {"turn": 1, "question": QUESTION, "line": KEPT}

    script.tell(*[{"type": "kept", "questions": [kept]}] * 2)
    await expect(offer(room)).to_be_visible()

    await room.hears(KEPT)
    await expect(room.box).to_be_focused()


async def test_it_stands_aside_while_a_reply_is_under_way(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    script.tell({"type": "kept", "questions": [{"turn": 1, "question": QUESTION, "line": KEPT}]})
    await expect(offer(room)).to_be_visible()

    turn = await room.say("Hello.")
    await expect(offer(room)).to_be_hidden()
    script.say(1, "Good morning.")
    script.tell({"type": "complete", "turn": 1, "seq": 1})
    await room.becomes(turn, "complete")

    await expect(offer(room)).to_be_visible()
    await room.hears(KEPT, "Good morning.")


async def test_what_cannot_be_asked_now_says_so_and_can_be_pressed_again(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    script.tell({"type": "kept", "questions": [{"turn": 1, "question": QUESTION, "line": KEPT}]})
    ask = offer(room).get_by_role("button", name="Ask it again")

    await ask.click()
    first = await script.until_sent("ask_again")
    await expect(ask).to_be_disabled()
    script.tell({"type": "problem", "code": "not_now", "line": "A bit later."})
    await expect(offer(room)).to_contain_text("A bit later.")
    await room.hears(KEPT, "A bit later.")
    await ask.click()

    assert (await script.until_sent("ask_again", times=2))["key"] != first["key"]


async def test_what_was_pressed_when_the_line_broke_is_sent_once_more_under_the_same_key(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    script.kept = [{"turn": 1, "question": QUESTION, "line": KEPT}]
    script.tell({"type": "kept", "questions": script.kept})
    await offer(room).get_by_role("button", name="Ask it again").click()
    first = await script.until_sent("ask_again")

    await script.close(4503)

    assert await script.until_sent("ask_again", times=2) == first


async def test_nothing_of_it_stays_once_the_person_has_finished(
    open_room: OpenRoom, service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    expire_hold(await play_broken_turn(service, rosa, rehearsal, question=QUESTION))
    room = await (await open_room()).enter(rosa)
    await expect(offer(room)).to_contain_text(QUESTION)

    await room.finished.click()
    await expect(room.page.get_by_text("Goodbye.", exact=False).last).to_be_visible()

    assert QUESTION not in await room.whole_text()


async def test_an_offer_that_comes_is_whole_in_sight_as_far_as_the_last_answer_leaves_room(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 1280, "height": 800})
    script = await Script.behind(room, people.rosa, [snapshot(1, reply="One.\n\nTwo."), snapshot(2)])

    script.tell({"type": "kept", "questions": [{"turn": 1, "question": QUESTION, "line": KEPT}]})

    await expect(offer(room)).to_be_visible()
    assert await room.page.evaluate(
        """() => {
          const shows = (node) => {
            const box = node.getBoundingClientRect();
            const at = (y) => document.elementFromPoint(box.left + 30, y);
            return node.contains(at(box.top + 2)) && node.contains(at(box.bottom - 2));
          };
          const answer = document.querySelector("[data-turns] > article:last-child [data-part=reply] p");
          return [...document.querySelectorAll("[data-kept] button"), answer].every(shows);
        }"""
    )


@pytest.mark.parametrize("size", [(320, 568), *mark_long([(1280, 800)])], ids=["phone", "desktop"])
async def test_an_offer_is_whole_in_sight_when_the_page_opens(
    open_room: OpenRoom, people: People, size: tuple[int, int]
) -> None:
    room = await open_room(viewport={"width": size[0], "height": size[1]})
    rosa = people.rosa
    script = Script(rosa.conversation.pk, [snapshot(turn) for turn in range(1, 9)])
    script.kept = [{"turn": 1, "question": LONG_QUESTION, "line": KEPT}]

    await script.stand_behind(room, rosa)

    await expect(offer(room)).to_be_visible()
    await room.until(IN_SIGHT)


async def test_what_can_be_pressed_stays_in_sight_when_it_cannot_be_asked_now(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 1280, "height": 800})
    rosa = people.rosa
    script = Script(rosa.conversation.pk, [snapshot(turn) for turn in range(1, 9)])
    script.kept = [{"turn": 1, "question": LONG_QUESTION, "line": KEPT}]
    await script.stand_behind(room, rosa)

    await offer(room).get_by_role("button", name="Ask it again").click()
    await script.until_sent("ask_again")
    script.tell({"type": "problem", "code": "not_now", "line": "Let me come to your other words first."})
    await expect(offer(room)).to_contain_text("other words first")

    assert await room.page.evaluate(IN_SIGHT)
