"""A question that can never be answered keeps no later message from its answer."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.page_socket import Frame, Page
from tests.people import People
from tests.processes import Rehearsal, Web

NEVER = "Something that is never answered."
UNANSWERABLE = (
    "I could not answer all that you asked me before. You did nothing wrong. "
    "You can talk to the staff about it."
)
# Words that are on no list of the classifier.
WITHHELD = '{"error": {"message": "Zzyzx declined to go on with qwxy.", "type": "zzyzx"}}'


async def asked(page: Page, *texts: str) -> list[Frame]:
    """The endings of these messages, sent one after the other."""
    endings = []
    for text in texts:
        await page.say(text)
        endings.append(await page.ending())
    return endings


def openings(page: Page, turn: int) -> list[tuple[str, str]]:
    return [
        (frame["kind"], frame["line"])
        for frame in page.frames
        if frame["type"] == "opening" and frame["turn"] == turn
    ]


def last_asked(rehearsal: Rehearsal) -> str:
    last: str = rehearsal.list_requests()[-1]["messages"][-1]["content"]
    return last


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 400, "body": WITHHELD},
        {"status": 422, "body": WITHHELD},
        {"status": 400, "error": "context_length"},
        {"status": 403, "body": WITHHELD},
        {"error": "server_error"},
    ],
    ids=["bad_request", "unprocessable", "too_long", "forbidden", "in_stream"],
)
async def test_the_third_message_is_answered_and_the_participant_is_told(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal, fault: dict[str, Any]
) -> None:
    web, rosa = another_web(COMPANION_ATTEMPTS="1"), people.rosa
    rehearsal.inject(fault, match=NEVER)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        first, second, third, fourth = await asked(page, NEVER, "Hello?", "What day is it?", "And now?")
    assert [one["type"] for one in (first, second, third, fourth)] == [
        "paused",
        "paused",
        "complete",
        "complete",
    ]
    assert [kind for kind, _ in openings(page, third["turn"])] == ["unanswerable", "i_am_back"]
    assert openings(page, third["turn"])[0][1] == UNANSWERABLE
    assert openings(page, fourth["turn"]) == []
    never, hello, answer, _ = rosa.turns()
    assert (never.settled, never.answered_by_id, hello.answered_by_id) == ("unanswerable", None, answer.pk)
    assert never.tried_along == 2
    prompts = [str(one["messages"]) for one in rehearsal.list_requests()]
    assert [NEVER in prompt for prompt in prompts] == [True, True, True, False, False]
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        assert (await page.next())["conversation"]["kept"] == [], "and it is not offered back"


async def test_after_empty_replies_alone_it_is_offered_back_and_not_called_unanswerable(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web, rosa = another_web(COMPANION_ATTEMPTS="1"), people.rosa
    rehearsal.inject({"reply": "empty"}, match=NEVER)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        _, _, third = await asked(page, NEVER, "Hello?", "What day is it?")
        assert third["type"] == "complete"
        assert [kind for kind, _ in openings(page, third["turn"])] == ["i_am_back"]
        told = await page.until("kept")
    assert [one["question"] for one in told["questions"]] == [NEVER]


async def test_two_such_questions_in_a_row_keep_no_new_message_from_its_answer(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"status": 400, "body": WITHHELD}, match="never answered")
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        _, _, third, fourth, fifth = await asked(
            page, NEVER, "Once more, never answered.", "What day is it?", "And now?", "Thank you."
        )
    assert [one["type"] for one in (third, fourth, fifth)] == ["complete"] * 3
    assert [turn.settled for turn in rosa.turns()] == ["unanswerable", "unanswerable", "", "", ""]
    assert openings(page, fifth["turn"]) == []


async def test_where_everything_fails_so_nothing_is_given_up_and_all_is_answered_in_order(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    texts = ["Question one?", "Question two?", "Question three?", "Question four?"]
    rehearsal.inject({"status": 400, "body": WITHHELD})
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        endings = await asked(page, *texts)
        assert [one["type"] for one in endings] == ["paused"] * 4
        rehearsal.clear()
        [last] = await asked(page, "Hello?")
    assert [kind for kind, _ in openings(page, last["turn"])] == ["i_am_back"]
    prompt = last_asked(rehearsal)
    places = [prompt.index(text) for text in [*texts, "Hello?"]]
    assert places == sorted(places)
    assert {turn.answered_by_id for turn in rosa.turns()[:4]} == {last["turn"]}


async def test_a_question_at_which_a_provider_breaks_is_asked_along_no_more_and_offered_back(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web, rosa = another_web(COMPANION_ATTEMPTS="1"), people.rosa
    rehearsal.inject({"status": 500}, match=NEVER)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        endings = await asked(page, NEVER, "One?", "Two?", "Three?")
        assert [one["type"] for one in endings] == ["paused", "paused", "paused", "complete"]
        assert [kind for kind, _ in openings(page, endings[-1]["turn"])] == ["i_am_back"]
        told = await page.until("kept")
    assert [one["question"] for one in told["questions"]] == [NEVER]
    never, *others, answer = rosa.turns()
    assert (never.settled, never.answered_by_id) == ("", None)
    assert [one.answered_by_id for one in others] == [answer.pk] * 2


async def test_one_bad_turn_is_not_enough_to_doubt_a_question(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"cut": "fin", "after": 3}, times=1)
    rehearsal.inject({"status": 400, "body": WITHHELD}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        _, _, third = await asked(page, "First question?", "Second question?", "Third question?")
    assert [kind for kind, _ in openings(page, third["turn"])] == ["i_am_back"]
    assert [turn.answered_by_id for turn in rosa.turns()] == [third["turn"], third["turn"], None]
