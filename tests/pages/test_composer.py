"""Where a person writes: the words stay until the service has them, and come back when it cannot answer."""

from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.door import Door
from tests.pages.script import Script, snapshot
from tests.people import People
from tests.processes import Rehearsal

TOO_LONG = "That is too much to send at one time."


async def test_shift_and_enter_begin_a_new_line(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)

    await room.box.press_sequentially("One")
    await room.box.press("Shift+Enter")
    await room.box.press_sequentially("Two")

    await expect(room.box).to_have_value("One\nTwo")
    await expect(room.turns).to_have_count(0)


async def test_blanks_alone_are_not_sent(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)

    await room.box.fill("  \n ")
    await room.send.click()
    await room.ask("Hello.")

    await expect(room.turns).to_have_count(1)


async def test_enter_that_ends_a_composed_word_does_not_send(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.box.fill("nihao")

    await room.box.dispatch_event("keydown", {"key": "Enter", "isComposing": True})

    await expect(room.box).to_have_value("nihao")
    await expect(room.turns).to_have_count(0)


async def test_a_double_press_is_one_turn_and_one_call(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)

    await room.box.fill("Hello.")
    await room.page.evaluate(
        """() => {
          const form = document.querySelector("[data-composer]");
          form.requestSubmit();
          form.requestSubmit();
        }"""
    )
    await room.becomes(room.turns.first, "complete")

    assert len([frame for frame in room.sent if '"say"' in frame]) == 2
    assert len(rosa.turns()) == len(rehearsal.list_requests()) == 1
    await expect(room.turns).to_have_count(1)


async def test_four_thousand_characters_go_and_one_more_stays_with_a_line(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)

    await room.box.fill("\U0001f642" * 4_001)
    await room.send.click()
    await expect(room.problem).to_contain_text(TOO_LONG)
    assert len(await room.box.input_value()) == 4_001
    await expect(room.turns).to_have_count(0)

    await room.ask("\U0001f642" * 4_000)
    await expect(room.problem).to_be_hidden()


async def test_one_can_write_and_send_while_he_speaks(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room()).enter(rosa)
    rehearsal.inject({"words": 60, "pace_ms": 20}, times=1)

    first = await room.say("Tell me a long story.")
    await room.becomes(first, "speaking")
    second = await room.say("And then?")
    await room.becomes(second, "complete")

    await room.becomes(first, "complete")
    assert [turn.question for turn in rosa.turns()] == ["Tell me a long story.", "And then?"]


async def test_what_is_written_while_the_answer_comes_is_not_touched(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    room = await (await open_room()).enter(people.rosa)
    rehearsal.inject({"words": 60, "pace_ms": 20}, times=1)
    turn = await room.say("Tell me a long story.")

    await room.box.press_sequentially("I am still writing")
    await room.becomes(turn, "complete")

    await expect(room.box).to_have_value("I am still writing")
    await expect(room.box).to_be_focused()


async def test_words_that_could_not_be_answered_go_back_before_those_written_since(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Can you help me?")
    script.tell({"type": "waiting", "turn": 1, "line": "I will come to you."})
    await expect(room.line(turn)).to_have_text("I will come to you.")
    await room.box.press_sequentially("Please")

    script.tell({"type": "refused", "turn": 1, "line": "Your words are still in the box."})

    await room.becomes(turn, "refused")
    await expect(room.line(turn)).to_have_text("Your words are still in the box.")
    await expect(room.box).to_have_value("Can you help me?\n\nPlease")


async def test_words_sent_while_the_service_is_away_stay_in_the_box_and_go_once(
    open_room: OpenRoom, people: People, door: Door, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    room = await (await open_room(door.url)).enter(rosa)
    await door.shut()

    await room.box.fill("Are you there?")
    await room.send.click()
    await expect(room.box).to_have_value("Are you there?")
    await door.open()
    await room.becomes(room.turns.first, "complete")

    await expect(room.box).to_have_value("")
    assert len(rosa.turns()) == len(rehearsal.list_requests()) == 1
    room.complaints.clear()


async def test_a_lost_acknowledgement_makes_no_second_message(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    script.accepts = False
    await room.box.fill("Do you hear me?")
    await room.send.click()
    first = await script.until_sent("say")

    # The line breaks before the answer. On the new one the words go again, under the same key.
    await script.close(4503)
    again = await script.until_sent("say", times=2)
    assert again == first
    await expect(room.box).to_have_value("Do you hear me?")

    # It breaks again, and by then the message is stored.
    script.turns.append(snapshot(1, key=first["key"], question=first["text"]))
    await script.close(4503)
    await expect(room.turns).to_have_count(1)

    await expect(room.box).to_have_value("")
    assert len(script.of("say")) == 2


async def test_a_frame_the_service_could_not_take_leaves_the_words_and_says_so(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    script.accepts = False
    await room.box.fill("Do you hear me?")
    await room.send.click()
    first = await script.until_sent("say")

    script.tell({"type": "problem", "code": "bad_frame", "line": "That did not get through."})

    await expect(room.problem).to_have_text("That did not get through.")
    await expect(room.box).to_have_value("Do you hear me?")
    await expect(room.box).to_be_editable()
    await room.hears("That did not get through.")
    await room.send.click()
    assert (await script.until_sent("say", times=2))["key"] != first["key"]


async def test_a_problem_with_something_else_leaves_the_message_on_its_way(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    script.accepts = False
    await room.box.fill("Do you hear me?")
    await room.send.click()
    said = await script.until_sent("say")

    script.tell({"type": "problem", "code": "not_allowed", "line": "That cannot be done here."})
    await expect(room.problem).to_have_text("That cannot be done here.")
    script.tell({"type": "accepted", "key": said["key"], "turn": 1})

    await expect(room.question(room.turns.first)).to_have_text("Do you hear me?")
    await expect(room.box).to_have_value("")


async def test_words_that_could_not_be_answered_come_back_also_where_the_draft_contains_them(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    for number, draft in enumerate(["Can you help me? Please.", "I said: Can you help me?"], start=1):
        turn = await room.say("Can you help me?")
        await room.box.fill(draft)

        script.tell({"type": "refused", "turn": number, "line": "Please try again."})
        await room.becomes(turn, "refused")

        await expect(room.box).to_have_value(f"Can you help me?\n\n{draft}")


async def test_words_that_come_back_while_others_are_on_their_way_are_all_that_is_left(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.say("Can you help me?")
    script.accepts = False
    await room.box.fill("Please.")
    await room.send.click()
    said = await script.until_sent("say", times=2)

    script.tell({"type": "refused", "turn": 1, "line": "Please try again."})
    script.tell({"type": "accepted", "key": said["key"], "turn": 2})

    await expect(room.turns).to_have_count(2)
    await expect(room.box).to_have_value("Can you help me?")


async def test_an_invisible_message_is_not_sent_and_the_page_says_so(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    for number, text in enumerate(["\u200b", "\u2060", "\u2800", "\u3164", "\u00ad\u034f"]):
        await room.box.fill(text)
        await room.send.click()

        await expect(room.problem).to_have_text(
            "There are no words in this yet. You can write some and send them."
        )
        assert len(script.of("say")) == number, ascii(text)
        # Words that can be seen take the line away, so that the next text must bring it again.
        await room.say("Hello.")
        await expect(room.problem).to_be_hidden()


async def test_far_too_much_is_refused_at_once_and_stays_in_the_box(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    took = await room.page.evaluate(
        """() => {
          const box = document.querySelector("textarea");
          box.value = "two ".repeat(50_000);
          const form = document.querySelector("[data-composer]");
          // What a text box needs to lay out so much is the browser's own.
          box.scrollHeight;
          const began = performance.now();
          form.requestSubmit();
          return performance.now() - began;
        }"""
    )

    await expect(room.problem).to_contain_text(TOO_LONG)
    assert script.of("say") == []
    assert len(await room.box.input_value()) == 200_000
    assert took < 500


async def test_the_box_takes_a_million_letters_about_as_fast_as_any_other_box(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await Script.behind(room, people.rosa)

    usual, ours = await room.page.evaluate(
        """() => {
          const box = document.querySelector("textarea");
          const plain = document.createElement("textarea");
          box.after(plain);
          const took = (one) => {
            const began = performance.now();
            one.value = "two ".repeat(250_000);
            one.scrollHeight;
            const ended = performance.now();
            one.value = "";
            one.scrollHeight;
            return ended - began;
          };
          return [took(plain), took(box)];
        }"""
    )

    assert ours < 4 * usual + 200, (usual, ours)


async def test_words_written_from_right_to_left_stand_at_the_right(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    await Script.behind(room, people.rosa)

    await room.box.fill("שלום")

    direction = "(node) => getComputedStyle(node).direction"
    assert await room.box.evaluate(direction) == "rtl"
    turn = await room.say("שלום")
    assert await room.question(turn).locator("p").evaluate(direction) == "rtl"
