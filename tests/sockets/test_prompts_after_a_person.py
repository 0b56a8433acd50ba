"""What a provider is sent after a person was there: their words, but no red message and no drafted line (T15, S4)."""

from ops.stack.postgres import EmbeddedPostgres
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.supervised import Supervisor


def last_prompt(rehearsal: Rehearsal) -> list[str]:
    return [message["content"] for message in rehearsal.list_requests()[-1]["messages"]]


async def talk_with_sam(page: Page, sam: Supervisor) -> None:
    await sam.take_over()
    await page.until("person")
    await sam.say("Hello, this is Sam. Shall we look at the garden?")
    await page.until("said")
    await page.say("Yes please, Sam.")
    await page.ending()
    await sam.hand_back()
    await page.until("person")


async def test_what_was_written_with_a_person_is_told_and_remembered(
    service: Web, rehearsal: Rehearsal, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    async with (
        Supervisor(database.url, rosa) as sam,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await page.say("Good morning.")
        await page.ending()
        await talk_with_sam(page, sam)
        await page.say("What did we say?")
        assert (await page.ending())["type"] == "complete"
        told = last_prompt(rehearsal)[-1]
        assert told.startswith("A person who works here wrote with them in between.")
        assert told.endswith('"""\n\nWhat did we say?')
        assert told.index("Sam: Hello, this is Sam.") < told.index("Yes please, Sam.")
        await page.say("And now?")
        await page.ending()
        *_, remembered, _, now = last_prompt(rehearsal)
        assert remembered == told and now == "And now?"
    everything = "\n".join(last_prompt(rehearsal))
    assert "is here now" not in everything and "has left the chat" not in everything


async def test_a_site_that_does_not_share_it_sends_none_of_it(
    service: Web, rehearsal: Rehearsal, people: People, database: EmbeddedPostgres
) -> None:
    people.site.shares_person_words = False
    in_database(people.site.save)
    rosa = people.rosa
    async with (
        Supervisor(database.url, rosa) as sam,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await talk_with_sam(page, sam)
        await page.say("What did we say?")
        await page.ending()
    assert last_prompt(rehearsal)[1:] == ["What did we say?"]


async def test_notes_of_staff_and_lines_about_a_red_message_stay_out(
    service: Web, rehearsal: Rehearsal, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    async with (
        Supervisor(database.url, rosa) as sam,
        Page(service.socket_url, rosa.sign_in(service.url)) as page,
    ):
        await page.say("I want to kill myself tonight.")
        await page.until("safety")
        await page.send({"type": "help"})
        await page.until("help")
        await sam.connection.execute(
            "INSERT INTO companion_flagstep (flag_id, what, who, note) "
            "SELECT id, 'noted', 'Sam', 'A note about her.' FROM companion_flag WHERE conversation_id = %s",
            (sam.conversation,),
        )
        await talk_with_sam(page, sam)
        await page.say("What is new?")
        await page.ending()
    system, told = last_prompt(rehearsal)
    assert (
        "kill" not in told and "note" not in told and "0808" not in told and "asked for a person" not in told
    )
    assert "worried the staff" in system
