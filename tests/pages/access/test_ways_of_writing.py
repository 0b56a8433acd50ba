"""Words come into the box by other ways than keys, and Enter has many names; the page takes them as they are (A3)."""

import pytest
from playwright.async_api import expect

from tests.pages.conftest import OpenRoom
from tests.pages.script import Script, snapshot
from tests.people import People

HELD_DOWN = """(box) => {
  for (const repeat of [false, true, true]) {
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", repeat, bubbles: true, cancelable: true }));
  }
}"""
# A manager of passwords puts its own elements beside every field, and its own attributes on them.
MANAGER = """() => {
  for (const field of document.querySelectorAll("input:not([type=hidden]), textarea")) {
    field.setAttribute("data-manager-id", "7");
    field.style.backgroundImage = "linear-gradient(transparent, transparent)";
    const icon = document.createElement("manager-icon");
    icon.attachShadow({ mode: "closed" }).append("fill");
    field.after(icon);
  }
  document.body.append(document.createElement("manager-overlay"));
}"""
SELECT_ALL = """() => {
  getSelection().selectAllChildren(document.querySelector("[role=log]"));
  return getSelection().toString();
}"""


async def test_dictated_words_are_sent_kept_and_told_like_typed_ones(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.box.focus()

    # An input event, and no key before or after it.
    await room.page.keyboard.insert_text("I slept well")
    await room.page.keyboard.insert_text(" and I had tea.")
    await room.send.click()

    assert (await script.until_sent("say"))["text"] == "I slept well and I had tea."


async def test_words_that_are_dropped_into_the_box_stay_there_and_are_sent(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    box = await room.box.bounding_box()
    assert box is not None
    browser = await room.context.new_cdp_session(room.page)
    words = {"items": [{"mimeType": "text/plain", "data": "Tea at four."}], "dragOperationsMask": 1}

    # As from another window.
    for step in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + 40, "y": box["y"] + 20}
        await browser.send("Input.dispatchDragEvent", {"type": step, "data": words, **place})
    await expect(room.box).to_have_value("Tea at four.")
    await room.send.click()

    assert (await script.until_sent("say"))["text"] == "Tea at four."


@pytest.mark.parametrize("key", ["Enter", "NumpadEnter"])
async def test_each_enter_of_a_keyboard_sends(open_room: OpenRoom, people: People, key: str) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.box.fill("Hello.")

    await room.box.press(key)

    assert (await script.until_sent("say"))["text"] == "Hello."


async def test_enter_that_is_held_down_sends_once(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    script.accepts = False
    await room.box.fill("Hello.")

    await room.box.evaluate(HELD_DOWN)
    await script.until_sent("say")

    assert len({frame["key"] for frame in script.of("say")}) == 1


@pytest.mark.parametrize(
    "facts", [{"key": "Process", "keyCode": 229}, {"key": "Unidentified", "keyCode": 229}]
)
async def test_a_key_that_an_input_method_handles_sends_no_half_word(
    open_room: OpenRoom, people: People, facts: dict[str, object]
) -> None:
    room = await open_room()
    script = await Script.behind(room, people.rosa)
    await room.box.fill("nihao")

    await room.box.dispatch_event("keydown", facts)
    # Some keyboards of phones put a line break where the key was.
    await room.page.keyboard.insert_text("\n")

    await expect(room.box).to_have_value("nihao\n")
    assert script.of("say") == []
    await room.send.click()
    assert (await script.until_sent("say"))["text"] == "nihao"


async def test_a_manager_of_passwords_disturbs_neither_the_card_nor_the_chat(
    open_room: OpenRoom, people: People
) -> None:
    rosa = people.rosa
    room = await open_room()
    await room.go_to("/card/")
    await room.page.evaluate(MANAGER)
    field = room.page.get_by_label("Type the code")
    await expect(field).to_have_attribute("autocomplete", "off")

    # Filled in from outside: the value first, and the events after it.
    await field.evaluate(
        """(field, code) => {
          field.value = code;
          for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
        }""",
        f" {rosa.card.code.lower()} ",
    )
    await room.page.get_by_role("button", name="Come in").click()
    await room.ready()
    await room.page.evaluate(MANAGER)

    await room.ask("Good morning.")

    await expect(room.box).to_have_value("")
    assert await room.page.locator("input[type=password]").count() == 0


async def test_what_is_copied_says_who_said_it(open_room: OpenRoom, people: People) -> None:
    room = await open_room()
    await Script.behind(room, people.rosa, [snapshot(1, question="Is it cold?", reply="No.\n\nIt is warm.")])

    copied = " ".join((await room.page.evaluate(SELECT_ALL)).split())

    assert copied.endswith("You said: Is it cold? Robin said: No. It is warm."), copied


async def test_the_printed_page_is_whole_and_nothing_lies_over_the_words(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 794, "height": 1123})
    await Script.behind(room, people.rosa, [snapshot(number, reply="Good. " * 60) for number in range(1, 20)])

    await room.page.emulate_media(media="print")

    assert await room.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await expect(room.turns.first).to_be_visible()
    # What is fixed would be printed on every sheet, over the words.
    assert (
        await room.page.evaluate(
            """() => [...document.querySelectorAll("body *")]
          .filter((node) => node.checkVisibility() && getComputedStyle(node).position === "fixed").length"""
        )
        == 0
    )
    hidden = (
        "(node) => getComputedStyle(node).overflowY === 'hidden' && node.scrollHeight > node.clientHeight"
    )
    assert not await room.turns.last.evaluate(hidden)
