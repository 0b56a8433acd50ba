"""One turn over the socket: stored, then shown, to the end."""

from tests.page_socket import Page
from tests.people import People
from tests.processes import Rehearsal, Web


async def test_a_message_is_accepted_and_answered_word_by_word(service: Web, people: People) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        hello = await page.next()
        assert hello["v"] == 1
        assert hello["persona"] == {"name": "Robin"}
        assert hello["conversation"] == {
            "id": rosa.conversation.pk,
            "turns": [],
            "earlier": False,
            "kept": [],
            "look": {},
            "pause_line": "",
            "person": None,
            "quiet": False,
            "paused": False,
        }
        key = await page.say("Good morning, are you there?")
        accepted = await page.next()
        assert (accepted["type"], accepted["key"]) == ("accepted", key)
        ending = await page.ending()
    assert ending["type"] == "complete"
    assert page.kinds(accepted["turn"]) == ["accepted", "words", "complete"]
    [stored] = rosa.turns()
    assert stored.state == "complete"
    assert stored.reply == page.words(accepted["turn"])
    assert stored.seq == ending["seq"]
    assert (stored.lane, stored.preset) == ("rehearsal", "normal")


async def test_the_provider_is_asked_once_and_in_the_characters_name(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    async with Page(service.socket_url, people.rosa.sign_in(service.url)) as page:
        await page.say("What a grey day.")
        await page.ending()
    [asked] = rehearsal.list_requests()
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert "Robin" in asked["messages"][0]["content"]
    assert asked["messages"][1]["content"] == "What a grey day."
