"""A browser that translates replaces text nodes by elements of its own: at the end the stored words stand there."""

from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.script import Script
from tests.people import People, Person

# What Chromium's translation does to every text on the page.
TRANSLATE = """() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) if (walker.currentNode.data.trim()) texts.push(walker.currentNode);
  for (const text of texts) {
    const outer = document.createElement("font");
    const inner = document.createElement("font");
    inner.textContent = `<<${text.data}>>`;
    outer.append(inner);
    text.replaceWith(outer);
  }
  return texts.length;
}"""


async def test_a_reply_that_is_translated_as_it_comes_ends_with_exactly_the_stored_words(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.tell({"type": "opening", "turn": 1, "kind": "reduced", "line": "I am a bit slower."})
    for seq, text in enumerate(["One two ", "three.\n\n", "Four ", "five.\n\nSix"]):
        script.say(1, text, after=seq)
        await expect(room.reply(turn)).to_contain_text(text.split()[-1])
        assert await room.page.evaluate(TRANSLATE) > 0

    script.say(1, ".", after=4)
    script.tell({"type": "complete", "turn": 1, "seq": 5})
    await room.becomes(turn, "complete")

    assert await room.text_of(room.reply(turn)) == "One two three.\n\nFour five.\n\nSix."
    await expect(room.question(turn)).to_have_text("Hello.")
    await expect(turn.locator("[data-kind=reduced]")).to_have_text("I am a bit slower.")


async def test_a_drafted_line_that_was_translated_gives_way_to_the_next(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    turn = await room.say("Hello.")
    script.tell({"type": "waiting", "turn": 1, "line": "I will come to you."})
    await expect(room.line(turn)).to_have_text("I will come to you.")
    await room.page.evaluate(TRANSLATE)

    script.tell({"type": "paused", "turn": 1, "seq": 0, "line": "I have to stop."})

    await expect(room.line(turn)).to_have_text("I have to stop.")


async def test_the_conversation_asks_browsers_not_to_translate_it(
    open_room: OpenRoom, people: People
) -> None:
    rosa: Person = people.rosa
    room = await (await open_room()).enter(rosa)

    assert await room.page.evaluate("document.documentElement.translate") is False
    assert await room.page.locator("meta[name=google][content=notranslate]").count() == 1
