"""What a screen reader hears: each finished sentence once, drafted lines at once, and never a token (A4)."""

import asyncio

from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.script import Script, snapshot
from tests.people import People
from tests.processes import Rehearsal


async def test_each_finished_sentence_is_heard_once_and_nothing_else(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    room = await (await open_room()).enter(people.rosa)
    text = "Good morning. It is 3.5 miles to the sea. Shall we go?\n\nBring a coat, e.g. the red one"
    rehearsal.inject({"say": text, "split": 3}, times=1)

    await room.ask("Where shall we go?")

    await room.hears(
        "Good morning.",
        "It is 3.5 miles to the sea.",
        "Shall we go?",
        "Bring a coat, e.g. the red one",
    )


async def test_a_sentence_is_heard_when_it_is_finished_and_not_before(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.say(1, "Good ", "morn", "ing. ", "How ")
    await expect(room.reply(turn)).to_have_text("Good morning. How")
    await room.hears("Good morning.")
    script.say(1, "are you?", after=4)
    await expect(room.reply(turn)).to_have_text("Good morning. How are you?")
    await room.hears("Good morning.")
    script.tell({"type": "complete", "turn": 1, "seq": 5})
    await room.becomes(turn, "complete")

    await room.hears("Good morning.", "How are you?")


async def test_the_waiting_the_opening_and_the_pause_line_are_heard_at_once_and_in_order(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.tell({"type": "waiting", "turn": 1, "line": "I will come to you."})
    await expect(room.line(turn)).to_have_text("I will come to you.")
    await room.hears("I will come to you.")
    script.tell({"type": "opening", "turn": 1, "kind": "reduced", "line": "I am a bit slower."})
    script.say(1, "Good. ", "I was")
    await expect(room.reply(turn)).to_have_text("Good. I was")
    await room.hears("I will come to you.", "I am a bit slower.", "Good.")
    script.tell({"type": "paused", "turn": 1, "seq": 2, "line": "I have to stop."})
    await room.becomes(turn, "paused")

    await room.hears("I will come to you.", "I am a bit slower.", "Good.", "I was", "I have to stop.")


async def test_what_was_there_before_is_not_read_out_on_arrival(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    speaking = snapshot(2, reply="Already said. Half a sen", state="speaking", seq=4)
    script = await Script.behind(room, people.rosa, [snapshot(1), speaking])

    script.say(2, "tence. ", "And more.", after=4)
    script.tell({"type": "complete", "turn": 2, "seq": 6})
    await room.becomes(room.turns.nth(1), "complete")

    await room.hears("Half a sentence.", "And more.")


async def test_a_new_line_reads_nothing_twice(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "One. ", "Two. ", "Thr")
    await expect(room.reply(turn)).to_have_text("One. Two. Thr")

    script.turns[0] |= {"reply": "One. Two. Three. Four. Fi", "seq": 5}
    await script.close(4408)
    await script.until_connected(2)
    script.say(1, "ve.", after=5)
    script.tell({"type": "complete", "turn": 1, "seq": 6})
    await room.becomes(turn, "complete")

    await room.hears("One.", "Two.", "Three.", "Four.", "Five.")


async def test_the_conversation_itself_is_not_live(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)
    await room.ask("Hello.")

    live = await room.page.evaluate(
        """() => Array.from(document.querySelectorAll("[aria-live], [role=log], [role=status], [role=alert]"))
          .filter((region) => region.getAttribute("aria-live") !== "off")
          .map((region) => region.hasAttribute("data-status"))"""
    )

    assert live == [True]


async def test_the_line_that_he_is_still_there_is_heard_once_and_gives_way_to_the_first_word(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.tell(*[{"type": "still_here", "turn": 1, "line": "I am still here."}] * 2)
    await expect(room.line(turn)).to_have_text("I am still here.")
    script.say(1, "Good ", "morning.")
    script.tell({"type": "still_here", "turn": 1, "line": "I am still here."})
    script.tell({"type": "complete", "turn": 1, "seq": 2})
    await room.becomes(turn, "complete")

    await expect(room.reply(turn)).to_have_text("Good morning.")
    await expect(room.line(turn)).to_be_hidden()
    await room.hears("I am still here.", "Good morning.")


async def test_that_a_reply_was_shortened_is_seen_and_heard_after_its_last_words(
    open_room: OpenRoom, people: People, rehearsal: Rehearsal
) -> None:
    room = await (await open_room()).enter(people.rosa)
    rehearsal.inject({"say": "It is a long way.", "finish": "length"}, times=1)

    turn = await room.ask("Tell me all of it.")

    await expect(room.line(turn)).to_have_text("That is all I can say in one go. You can ask me to go on.")
    await room.hears("It is a long way.", "That is all I can say in one go. You can ask me to go on.")


async def test_the_region_that_is_read_out_holds_one_text_and_is_read_in_parts(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.say(1, "One. ", "Two. ", "Three. ")
    script.tell({"type": "complete", "turn": 1, "seq": 3})
    await room.becomes(turn, "complete")
    await room.hears("One.", "Two.", "Three.")

    # As the browser hands it to a screen reader, and not as the page wrote it.
    cdp = await room.context.new_cdp_session(room.page)
    tree = (await cdp.send("Accessibility.getFullAXTree"))["nodes"]
    [region] = [node for node in tree if node.get("role", {}).get("value") == "status"]
    facts = {fact["name"]: fact["value"]["value"] for fact in region["properties"]}
    inside = [node for node in tree if node["nodeId"] in region["childIds"]]

    assert (facts["live"], facts["atomic"]) == ("polite", False)
    assert [node["role"]["value"] for node in inside] == ["paragraph"]
    texts = [node["name"]["value"] for node in tree if node.get("parentId") == inside[0]["nodeId"]]
    assert texts == ["Three."]


async def test_a_reply_that_comes_all_at_once_does_not_keep_a_pause_from_being_heard(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")

    script.say(1, *[f"This is sentence {number}. " for number in range(100)])
    script.tell({"type": "paused", "turn": 1, "seq": 100, "line": "I have to stop."})
    await room.becomes(turn, "paused")

    async with asyncio.timeout(3):
        await room.until("window.heard.includes('I have to stop.')")
    heard = " ".join(await room.read_announcements())
    assert [heard.count(f"This is sentence {number}.") for number in range(100)] == [1] * 100
