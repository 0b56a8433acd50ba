"""What each frame does to the page: every word once and in order, whatever is lost, doubled or late."""

from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.script import Script, snapshot
from tests.people import People
from tests.processes import Rehearsal


async def test_pieces_are_added_in_order_and_doubled_ones_dropped(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.say(1, "One ", "two ")
    script.say(1, "One ", "two ", "three.")
    script.tell({"type": "complete", "turn": 1, "seq": 3})

    await room.becomes(turn, "complete")
    await expect(room.reply(turn)).to_have_text("One two three.")


async def test_a_gap_is_asked_for_once_and_filled(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.say(1, "One ")
    script.say(1, "three ", "four.", after=2)
    assert await script.until_sent("catch_up") == {"type": "catch_up", "turn": 1, "after": 1}
    script.say(1, "two ", "three ", "four.", after=1)
    script.tell({"type": "complete", "turn": 1, "seq": 4})

    await room.becomes(turn, "complete")
    await expect(room.reply(turn)).to_have_text("One two three four.")
    assert len(script.of("catch_up")) == 1


async def test_an_end_that_comes_before_the_last_words_waits_for_them(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.say(1, "One ")
    script.tell({"type": "complete", "turn": 1, "seq": 2})
    assert await script.until_sent("catch_up") == {"type": "catch_up", "turn": 1, "after": 1}
    await expect(turn).to_have_attribute("data-state", "speaking")
    script.say(1, "two.", after=1)
    script.tell({"type": "complete", "turn": 1, "seq": 2})

    await room.becomes(turn, "complete")
    await expect(room.reply(turn)).to_have_text("One two.")


async def test_a_pause_stands_even_when_words_before_it_were_lost(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.say(1, "One ")
    script.tell({"type": "paused", "turn": 1, "seq": 9, "line": "I have to stop."})

    await room.becomes(turn, "paused")
    await expect(room.line(turn)).to_have_text("I have to stop.")
    assert script.of("catch_up") == []


async def test_it_acknowledges_at_least_every_twenty_pieces_and_at_the_end(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.say(1, *["word "] * 105)
    script.tell({"type": "complete", "turn": 1, "seq": 105})
    await room.becomes(turn, "complete")

    seqs = [ack["seq"] for ack in script.of("ack")]
    assert seqs[-1] == 105
    assert all(after - before <= 20 for before, after in zip([0, *seqs], seqs, strict=False))


async def test_an_opening_stands_before_the_words_and_replaces_the_queued_line(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.tell({"type": "waiting", "turn": 1, "line": "I will come to you."})
    await expect(room.line(turn)).to_have_text("I will come to you.")

    script.tell({"type": "opening", "turn": 1, "kind": "i_am_back", "line": "I am back."})
    script.say(1, "Good.")

    await expect(room.reply(turn)).to_have_text("Good.")
    await expect(room.line(turn)).to_be_hidden()
    shown = turn.locator("[data-part=answer] p:visible")
    assert await shown.all_text_contents() == ["I am back.", "Good."]


async def test_a_hello_in_the_middle_of_a_reply_takes_nothing_back_and_doubles_nothing(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "One ", "two ")
    await expect(room.reply(turn)).to_have_text("One two")
    # A reader has selected a word; drawing what is right already would lose it.
    await room.page.evaluate(
        """() => {
          const words = document.querySelector("[data-part=reply] p").firstChild;
          getSelection().setBaseAndExtent(words, 0, words, 3);
        }"""
    )

    script.turns[0] |= {"reply": "One two three ", "seq": 3}
    await script.close(4408)
    await script.until_connected(2)
    script.say(1, "four.", after=3)

    await expect(room.reply(turn)).to_have_text("One two three four.")
    assert await room.page.evaluate("getSelection().toString()") == "One"


async def test_a_turn_the_service_no_longer_has_leaves_the_page(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(1), snapshot(2), snapshot(3)])
    await expect(room.turns).to_have_count(3)

    del script.turns[1]
    await script.close(4408)

    await expect(room.turns).to_have_count(2)
    assert "Question 2" not in await room.whole_text()


async def test_earlier_turns_come_a_page_at_a_time_and_the_reader_stays_where_they_were(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(id) for id in range(100, 150)])
    await room.page.route(
        "**/chat/turns/?before=100",
        lambda route: route.fulfill(
            json={"conversation": script.conversation, "turns": [snapshot(id) for id in range(60, 100)]}
        ),
    )
    await expect(room.greeting).to_be_hidden()
    await room.earlier.focus()
    place = "() => document.querySelector('[data-turn=\"100\"]').getBoundingClientRect().top"
    before = await room.page.evaluate(place)

    await room.earlier.press("Enter")
    await expect(room.turns).to_have_count(90)

    assert abs(await room.page.evaluate(place) - before) < 2
    await expect(room.greeting).to_be_visible()
    await expect(room.earlier).to_be_hidden()
    await expect(room.greeting).to_be_focused()
    assert await room.read_announcements() == []


async def test_a_frame_about_a_question_of_another_tab_brings_the_question(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa, [snapshot(4)])
    asked = snapshot(7, question="Asked elsewhere.", reply="", state="speaking", seq=0)
    await room.page.route(
        "**/chat/turns/?after=4",
        lambda route: route.fulfill(json={"conversation": script.conversation, "turns": [asked]}),
    )

    script.tell({"type": "accepted", "key": asked["key"], "turn": 7})
    script.say(7, "Here ", "it is.")
    script.tell({"type": "complete", "turn": 7, "seq": 2})

    turn = room.turns.nth(1)
    await room.becomes(turn, "complete")
    await expect(room.question(turn)).to_have_text("Asked elsewhere.")
    await expect(room.reply(turn)).to_have_text("Here it is.")


async def test_waking_up_asks_whether_anything_was_missed(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "One ")
    await expect(room.reply(turn)).to_have_text("One")

    await room.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    assert await script.until_sent("catch_up") == {"type": "catch_up", "turn": 1, "after": 1}
    await script.until_sent("ping")


async def test_too_far_behind_comes_back_at_once_and_not_allowed_not_at_all(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.page.evaluate("Math.random = () => 0.9999")

    await script.close(4408)
    await script.until_connected(2)
    await script.close(4403)

    await expect(room.away).to_contain_text("That cannot be done here.")
    await expect(room.box).to_be_editable()


async def test_a_service_that_says_come_back_is_told_of_in_its_own_words(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.page.evaluate("Math.random = () => 0.9999")
    await room.page.evaluate("() => { window.WebSocket = class { close() {} }; }")

    await script.close(4503)

    await expect(room.away).to_contain_text("The chat is stopping for a little while.")


async def test_the_same_frame_lost_twice_does_not_leave_the_page_speaking(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "One ")

    # The second piece is lost, and once more in the answer to the page's question for it.
    script.tell(
        {"type": "words", "turn": 1, "seq": 3, "text": "three."}, {"type": "complete", "turn": 1, "seq": 3}
    )
    await script.until_sent("catch_up")
    script.tell(
        {"type": "words", "turn": 1, "seq": 3, "text": "three."}, {"type": "complete", "turn": 1, "seq": 3}
    )
    await expect(room.reply(turn)).to_have_text("One")
    await room.page.clock.run_for(6_000)
    assert await script.until_sent("catch_up", times=2) == {"type": "catch_up", "turn": 1, "after": 1}
    script.say(1, "two ", "three.", after=1)
    script.tell({"type": "complete", "turn": 1, "seq": 3})

    await room.becomes(turn, "complete")
    await expect(room.reply(turn)).to_have_text("One two three.")


async def test_an_end_that_is_lost_is_asked_for_at_growing_distances(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "That is all.")
    await expect(room.reply(turn)).to_have_text("That is all.")

    for _ in range(50):
        await room.page.clock.run_for(1_000)
    assert 2 <= len(script.of("catch_up")) <= 3
    script.tell({"type": "complete", "turn": 1, "seq": 1})

    await room.becomes(turn, "complete")


async def test_an_acceptance_that_is_lost_while_other_frames_come_is_asked_for_again(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await room.page.clock.install()
    script = await Script.behind(room, people.rosa)
    script.accepts = False
    await room.box.fill("Do you hear me?")
    await room.send.click()
    first = await script.until_sent("say")

    for _ in range(12):
        script.tell({"type": "pong"})
        await room.page.clock.run_for(1_000)

    assert await script.until_sent("say", times=2) == first


async def test_exactly_one_page_of_turns_has_nothing_before_it(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    rosa = people.rosa
    script = Script(rosa.conversation.pk, [snapshot(id) for id in range(100, 150)])
    script.earlier = False
    await script.stand_behind(room, rosa)

    await expect(room.turns).to_have_count(50)
    await expect(room.greeting).to_be_visible()
    await expect(room.earlier).to_be_hidden()


async def test_a_close_for_too_much_at_once_says_so_and_keeps_the_words(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    script.accepts = False
    await room.box.fill("Too much.")
    await room.send.click()
    await script.until_sent("say")

    await script.close(4413)
    await script.until_connected(2)

    await expect(room.problem).to_contain_text("That is too much to send at one time.")
    await expect(room.box).to_have_value("Too much.")
    assert len(script.of("say")) == 1
