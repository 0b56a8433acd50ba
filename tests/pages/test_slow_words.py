"""Slow words: shown at a reading pace in the browser alone, never far behind, and all at a press (A6)."""

import pytest
from playwright.async_api import Locator, expect

from tests.long_forms import mark_long
from tests.pages.conftest import OpenRoom
from tests.pages.needs import set_needs
from tests.pages.room import Room
from tests.pages.script import Script
from tests.people import People

TEXT = (
    "One day a small bird sat down on the wall of the garden. It sang for a while. Then it flew off again. "
)

CUT_AT_THE_SIDE = """() => Array.from(document.querySelectorAll("button"))
  .filter((button) => button.checkVisibility() && button.getBoundingClientRect().left < 0)
  .map((button) => button.textContent)"""
# Steps through a reply with a clock of its own: `words` come every 100 ms for `until` ms, then it ends. Returns by how
# many seconds the latest word was late, and the first, and the state shown at last ("still": no word since the end).
STEP_BY_STEP = """async ({ words, until, end }) => {
  const addresses = performance.getEntriesByType("resource").map((entry) => entry.name);
  const { Reveal } = await import(addresses.find((address) => /\\/reveal\\.[^/]*js$/.test(address)));
  let now = 0;
  const look = { isSlow: true, isWhole: false };
  const reveal = new Reveal({ look, again: () => {}, stillHere: "", stillHereMs: 1e9, now: () => now });
  const turn = { id: 1, reply: "", openings: [], line: "", state: "speaking" };
  const late = [];
  let [came, atEnd, shown] = [[], null, null];
  for (; now < 180_000; now += 100) {
    if (now < until) came.push([now, (turn.reply += words).length - words.length]);
    else turn.state = end;
    shown = reveal.of(turn);
    if (now >= until) atEnd ??= shown.reply;
    while (came.length && shown.reply.length > came[0][1]) late.push(now - came.shift()[0]);
  }
  reveal.pause();
  const seconds = [Math.max(...late) / 1000, late[0] / 1000];
  return [...seconds, shown.reply === atEnd ? "still" : shown.state];
}"""


async def shown(room: Room, turn: Locator) -> str:
    return (await room.reply(turn).text_content()) or ""


async def test_words_come_at_a_reading_pace_and_the_service_is_answered_at_once(
    open_room: OpenRoom, people: People
) -> None:
    room = await open_room(viewport={"width": 320, "height": 700})
    set_needs(rosa := people.rosa, whole_messages=False, pace="slow")
    script = await Script.behind(room, rosa)
    turn = await room.say("Hello.")

    script.say(1, *[f"{word} " for word in TEXT.split()])
    script.tell({"type": "complete", "turn": 1, "seq": len(TEXT.split())})

    ack = await script.until_sent("ack", times=3)
    assert ack["seq"] == len(TEXT.split())
    assert await shown(room, turn) != TEXT.strip()
    await expect(turn).to_have_attribute("data-state", "speaking")
    await expect(room.page.get_by_role("button", name="Show it all now")).to_be_visible()
    assert await room.page.evaluate(CUT_AT_THE_SIDE) == []
    lengths: list[int] = []
    for _ in range(4):
        await room.until(
            "(before) => document.querySelector('[data-part=reply]').textContent.length > before",
            lengths[-1] if lengths else 0,
        )
        text = await shown(room, turn)
        assert TEXT.startswith(text) and (TEXT[len(text)] == " " or text.endswith(" "))
        lengths.append(len(text))
    await room.page.get_by_role("button", name="Show it all now").click()

    await room.becomes(turn, "complete")
    await expect(room.reply(turn)).to_have_text(TEXT.strip())
    await room.hears(
        "One day a small bird sat down on the wall of the garden.",
        "It sang for a while.",
        "Then it flew off again.",
    )


async def test_no_word_is_shown_more_than_a_minute_late_however_fast_words_come(
    open_room: OpenRoom, people: People
) -> None:
    room = await (await open_room()).enter(people.rosa)

    latest_s, first_s, ended = await room.page.evaluate(
        STEP_BY_STEP, {"words": "word " * 20, "until": 5_000, "end": "complete"}
    )

    assert 50 < latest_s <= 61
    assert first_s < 1
    assert ended == "complete"


async def test_after_a_take_over_no_word_appears(open_room: OpenRoom, people: People) -> None:
    room = await (await open_room()).enter(people.rosa)

    *_, ended = await room.page.evaluate(
        STEP_BY_STEP, {"words": "word " * 20, "until": 5_000, "end": "handed_over"}
    )

    # Nothing was shown after it, in three minutes.
    assert ended == "still"


@pytest.mark.parametrize(
    "ending", [{"type": "paused", "line": "I have to stop."}, *mark_long([{"type": "stopped"}])]
)
async def test_a_pause_or_a_stop_shows_what_was_said(
    open_room: OpenRoom, people: People, ending: dict[str, object]
) -> None:
    room = await open_room()
    set_needs(rosa := people.rosa, whole_messages=False, pace="slow")
    script = await Script.behind(room, rosa)
    turn = await room.say("Hello.")
    script.say(1, TEXT, "It was never seen ag")
    await room.until("document.querySelector('[data-part=reply]').textContent.includes('day')")

    script.tell({"turn": 1, "seq": 2, **ending})
    await room.becomes(turn, str(ending["type"]))

    await expect(room.reply(turn)).to_have_text(f"{TEXT}It was never seen ag")
    await expect(room.page.get_by_role("button", name="Show it all now")).to_be_hidden()
