"""A lost ring of the doorbell: its news is found by polling within a moment (T11, T14)."""

from django.utils import timezone

from companion.models import Turn
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, get_attempts, in_database
from tests.personal_data import add_turn
from tests.processes import Rehearsal, Web


async def test_a_turn_that_ended_unheard_closes_its_upstream_and_is_asked_nowhere_again(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"hang": "before_word"}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Are you there?")
        turn = (await page.until("accepted"))["turn"]
        await until(rehearsal.list_requests)
        in_database(
            lambda: Turn.objects.filter(pk=turn).update(
                state="stopped", reason="stopped", closed_at=timezone.now()
            )
        )
        await until(lambda: not rehearsal.read_gauge()["in_flight"])
        assert (await page.ending())["type"] == "stopped"
    assert len(rehearsal.list_requests()) == 1
    [broken_off] = await until(lambda: get_attempts(turn))
    assert broken_off.failure == "cancelled"


async def test_a_turn_that_another_process_opened_unheard_is_shown_on_an_open_page(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    for earlier in ("", "Are you there?"):
        if earlier:
            add_turn(rosa, earlier)
        async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
            await page.until("hello")
            told = [
                add_turn(rosa, f"I cannot go on, {number}.", state="safety", line="Please call.")
                for number in range(2)
            ]
            ended = [await page.until("safety") for _ in told]
            # Nothing of before is told again.
            assert sorted(page.kinds()) == ["accepted", "accepted", "hello", "safety", "safety"]
        assert [(frame["turn"], frame["line"]) for frame in ended] == [(turn.pk, turn.line) for turn in told]


async def test_a_turn_that_was_opened_unheard_is_shown_although_a_later_one_is_known(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.until("hello")
        unheard = add_turn(rosa, "I cannot go on.", state="safety", line="Please call.")
        later = await page.say("Are you there?")
        told = await page.until("safety")
    assert told["turn"] == unheard.pk
    heard = {frame["key"]: frame["turn"] for frame in page.frames if frame["type"] == "accepted"}
    assert heard[later] > unheard.pk
