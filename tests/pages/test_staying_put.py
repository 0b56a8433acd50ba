"""Focus and scroll never move by themselves: only for a reader at the end, and never past the start of the reply."""

import pytest
from playwright.async_api import expect

from tests.long_forms import mark_long
from tests.pages.conftest import OpenRoom
from tests.pages.script import Script, snapshot
from tests.people import People

LONG = "This sentence goes on for a little while and then it ends. " * 3
SEEN = """(selector) => {
  const found = document.querySelectorAll(selector);
  const box = found[found.length - 1].getBoundingClientRect();
  return box.top >= 0 && box.top < innerHeight;
}"""
NEXT_FRAME = """() => new Promise((place) => {
  requestAnimationFrame(() => requestAnimationFrame(() => place(scrollY)));
})"""
AT_END = "() => document.documentElement.scrollHeight - innerHeight - scrollY < 2"


async def test_a_reader_who_has_scrolled_up_is_left_alone(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(id, reply=LONG) for id in range(1, 20)])
    await room.say("Hello.")
    await room.page.evaluate("scrollTo(0, 500)")
    newest = room.page.get_by_role("button", name="Go to the newest")
    await expect(newest).to_be_visible()

    script.say(20, *[LONG] * 10)
    await expect(room.reply(room.turns.last)).to_contain_text("sentence")
    script.tell({"type": "complete", "turn": 20, "seq": 10})
    await room.becomes(room.turns.last, "complete")

    assert await room.page.evaluate("scrollY") == 500
    await newest.click()
    assert await room.page.evaluate(AT_END)
    await expect(newest).to_be_hidden()
    await expect(room.box).to_be_focused()


@pytest.mark.parametrize("size", [(320, 568), *mark_long([(1280, 720)])], ids=["320px", "1280px"])
async def test_walking_through_what_is_always_in_sight_and_writing_move_no_word_of_a_reader(
    open_room: OpenRoom, people: People, size: tuple[int, int]
) -> None:
    room = await open_room(viewport={"width": size[0], "height": size[1]})
    turns = [snapshot(id, reply=LONG) for id in range(1, 20)] + [snapshot(20, state="speaking")]
    await Script.behind(room, people.rosa, turns)
    await room.page.evaluate("scrollTo(0, 500)")
    places: list[int] = []

    await room.page.get_by_role("button", name="Go to the newest").evaluate(
        "(button) => button.focus({ preventScroll: true })"
    )
    for key in ("Tab", "a", "b", "Tab", "Tab", "Shift+Tab", "Shift+Tab", "c", "Shift+Tab"):
        await room.page.keyboard.press(key)
        places.append(await room.page.evaluate(NEXT_FRAME))

    assert places == [500] * len(places)
    await expect(room.box).to_have_value("abc")


async def test_a_page_further_down_is_no_more_than_can_be_read(open_room: OpenRoom, people: People) -> None:
    room = await open_room(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    await Script.behind(room, people.rosa, [snapshot(id, reply=LONG) for id in range(1, 30)])
    await room.page.evaluate("scrollTo(0, 500)")
    in_sight = await room.page.evaluate(
        """() => document.querySelector("[data-writing]").getBoundingClientRect().top
          - document.querySelector("[data-header]").getBoundingClientRect().bottom"""
    )

    await room.page.mouse.click(640, 300)
    await room.page.keyboard.press("PageDown")
    await room.until("scrollY > 500")
    await room.until(
        """() => new Promise((still) => {
          const before = scrollY;
          requestAnimationFrame(() => requestAnimationFrame(() => still(scrollY === before)));
        })"""
    )

    assert 0 < await room.page.evaluate("scrollY") - 500 <= in_sight


async def test_a_reader_at_the_end_sees_new_words_but_never_loses_the_start_of_the_reply(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(id) for id in range(1, 20)])
    assert await room.page.evaluate(AT_END)
    turn = await room.say("Hello.")

    script.say(20, LONG)
    await expect(room.reply(turn)).to_contain_text("ends.")
    assert await room.page.evaluate(AT_END)
    script.say(20, *[LONG] * 30, after=1)
    script.tell({"type": "complete", "turn": 20, "seq": 31})
    await room.becomes(turn, "complete")

    assert not await room.page.evaluate(AT_END)
    assert await room.page.evaluate(SEEN, "[data-turns] > article:last-child h2")


async def test_a_reader_who_goes_to_the_end_of_a_long_reply_goes_on_with_it(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, *[LONG] * 30)
    await expect(room.reply(turn)).to_contain_text("ends.")
    await room.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")

    script.say(1, *[LONG] * 10, "The last words.", after=30)
    await expect(room.reply(turn)).to_contain_text("The last words.")

    assert await room.page.evaluate(AT_END)


async def test_the_focus_stays_where_it_is_through_every_state(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    moved = """() => {
      window.moved = [];
      document.addEventListener("focusin", (event) => window.moved.push(event.target.outerHTML));
      document.addEventListener("focusout", (event) => window.moved.push("out"));
    }"""
    turn = await room.say("Hello.")
    await room.finished.focus()
    await room.page.evaluate(moved)

    script.tell({"type": "waiting", "turn": 1, "line": "I will come to you."})
    script.tell({"type": "opening", "turn": 1, "kind": "reduced", "line": "I am a bit slower."})
    script.say(1, "Good. ", "I was")
    script.tell({"type": "paused", "turn": 1, "seq": 2, "line": "I have to stop."})
    await room.becomes(turn, "paused")
    await script.close(4503)
    await script.until_connected(2)
    script.tell({"type": "problem", "code": "bad_frame", "line": "That did not get through."})
    await expect(room.problem).to_be_visible()

    await expect(room.finished).to_be_focused()
    assert await room.page.evaluate("window.moved") == []


async def test_a_line_beside_the_box_does_not_grow_over_what_was_read_last(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(id, reply=LONG) for id in range(1, 20)])

    script.tell({"type": "problem", "code": "bad_frame", "line": LONG})
    await expect(room.problem).to_be_visible()

    await room.until(AT_END)


async def test_a_first_visit_begins_at_the_top_where_it_says_what_he_is(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 320, "height": 400})

    await room.enter(people.rosa)

    assert await room.page.evaluate("scrollY") == 0
    assert await room.page.evaluate(SEEN, ".standing")


async def test_at_four_times_the_size_the_reply_to_what_was_sent_comes_into_sight(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 320, "height": 200})
    script = await Script.behind(room, people.rosa)

    turn = await room.say("What could I do on a day like this, when it rains and I am alone?")
    script.say(1, "You could ", "read a ")
    await expect(room.reply(turn)).to_have_text("You could read a")
    assert await room.page.evaluate(SEEN, "[data-part=reply] p")
    script.say(1, *[LONG] * 10, after=2)
    script.tell({"type": "complete", "turn": 1, "seq": 12})
    await room.becomes(turn, "complete")

    # The first words of it, and not its end.
    assert await room.page.evaluate(SEEN, "[data-part=reply] p")
    assert await room.page.evaluate("document.activeElement.id") == "words"


async def test_at_four_times_the_size_what_is_written_meanwhile_stays_under_the_eyes(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 320, "height": 200})
    script = await Script.behind(room, people.rosa, [snapshot(id, reply=LONG) for id in range(1, 5)])
    await room.say("Hello.")
    await room.box.press_sequentially("And then")
    place = "document.querySelector('textarea').getBoundingClientRect().top"
    before = await room.page.evaluate(place)

    script.say(5, *[LONG] * 10)
    await expect(room.reply(room.turns.last)).to_contain_text("sentence")

    assert abs(await room.page.evaluate(place) - before) < 2
    await expect(room.box).to_have_value("And then")


async def test_the_reply_to_a_question_longer_than_the_window_comes_into_sight(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)

    turn = await room.say(LONG * 15)
    script.say(1, "Good. ", LONG)
    await expect(room.reply(turn)).to_contain_text("Good.")

    assert await room.page.evaluate(SEEN, "[data-part=reply] p")
