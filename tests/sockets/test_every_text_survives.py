"""Whatever a provider or a person writes arrives as it was written, and as text (T16)."""

import pytest

from tests.page_socket import Page
from tests.people import People
from tests.processes import Rehearsal, Web

TEXTS = {
    "emoji": "A family 👩‍👩‍👧‍👦, a flag 🇳🇱, a hand 👍🏽 and the world 🌍.",
    "right to left": "שלום لك and back again.",
    "separators": "one\u2028two\u2029three\u0085four\u000bfive\x0csix",
    "markup": "<script>alert(1)</script> **bold** [a](b) &amp; <b>",
    "combining": "e\u0301 and Z\u0351\u036b\u0343algo and नमस्ते",
    "paragraphs": "One.\n\nTwo.\n\n\nThree.",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("split", [1, 3, 1000])
async def test_a_reply_arrives_as_it_was_said(
    service: Web, people: People, rehearsal: Rehearsal, text: str, split: int
) -> None:
    rosa = people.rosa
    rehearsal.inject({"say": text, "split": split, "pace_ms": 2}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say(text)
        ending = await page.ending()
    [stored] = rosa.turns()
    assert ending["type"] == "complete"
    assert page.words(ending["turn"]) == stored.reply == text
    assert stored.question == text


@pytest.mark.parametrize(
    "odd",
    [
        ["split_utf8"],
        ["lone_surrogate"],
        ["split_surrogate"],
        ["nul"],
        ["separators"],
        ["bom", "crlf", "comments"],
        ["cr"],
    ],
    ids=str,
)
async def test_odd_bytes_break_nothing_and_what_can_be_stored_is_shown(
    service: Web, people: People, rehearsal: Rehearsal, odd: list[str]
) -> None:
    rosa = people.rosa
    rehearsal.inject({"odd": odd, "words": 20}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("How odd.")
        ending = await page.ending()
    [stored] = rosa.turns()
    assert ending["type"] == "complete"
    assert page.words(ending["turn"]) == stored.reply
    assert "\x00" not in stored.reply


async def test_twenty_thousand_words_in_two_seconds_all_arrive(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"words": 20_000, "pace_ms": 0}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Everything, please.")
        ending = await page.ending(within_s=60)
    [stored] = rosa.turns()
    assert page.words(ending["turn"]) == stored.reply
    assert len(stored.reply.split()) == 20_000


async def test_a_cluster_of_characters_is_never_cut_in_two(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    family = "👩‍👩‍👧‍👦"
    rehearsal.inject({"say": family * 6, "split": 1, "pace_ms": 60}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Draw me a family.")
        await page.ending()
    pieces = [frame["text"] for frame in page.frames if frame["type"] == "words"]
    assert len(pieces) > 1
    assert all(piece.replace(family, "") == "" for piece in pieces)
