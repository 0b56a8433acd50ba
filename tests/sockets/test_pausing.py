"""A reply that breaks off is paused; its question is held and answered with the next turn (T5 to T9)."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from tests.lanes import Lanes
from tests.page_socket import Page
from tests.people import People, get_attempts
from tests.processes import Rehearsal, Web
from tests.staff import expire_hold, play_broken_turn, play_turn

PAUSE = "I have to stop for a little while. You did nothing wrong. I have kept your question safe."
SHORTENED = "That is all I can say in one go. You can ask me to go on."
BACK = "I am back. First, what you asked me before."


async def test_a_held_question_that_a_provider_refuses_is_let_go_and_what_comes_after_is_answered(
    another_web: Callable[..., Web], people: People, rehearsal: Rehearsal
) -> None:
    web, rosa = another_web(COMPANION_ATTEMPTS="1"), people.rosa
    rehearsal.inject({"status": 503}, times=1)
    rehearsal.inject({"status": 400, "error": "content_filter"}, match="Something a filter refuses.")
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        for text in ("Something a filter refuses.", "Hello?"):
            await page.say(text)
            assert (await page.ending())["type"] == "paused"
        await page.say("What day is it?")
        assert (await page.ending())["type"] == "complete"
    held, declined, _ = rosa.turns()
    assert (declined.reason, declined.held_until) == ("refused", None)
    assert held.answered_by_id is None
    assert held.held_until is not None and held.held_until <= timezone.now(), "operators see it as expired"


async def test_what_was_said_stays_the_pause_line_follows_and_the_half_answer_is_in_no_read(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    rehearsal.inject({"cut": "reset", "after": 8}, times=1)
    async with Page(service.socket_url, cookie) as page:
        await page.say("What helps against fear?")
        ending = await page.ending()
        turn = ending["turn"]
        assert page.kinds(turn) == ["accepted", "words", "paused"]
        assert ending["line"] == PAUSE
        said = page.words(turn)
        page.frames.clear()
        await page.send({"type": "catch_up", "turn": turn, "after": 0})
        assert await page.next() == ending
    async with Page(service.socket_url, cookie) as page:
        [snapshot] = (await page.next())["conversation"]["turns"]
        assert (snapshot["state"], snapshot["reply"], snapshot["line"]) == ("paused", "", PAUSE)
    [stored] = rosa.turns()
    assert (stored.state, stored.reason) == ("paused", "network")
    assert stored.reply == said
    # A reset may take words with it that were already on their way.
    assert 1 <= len(said.split()) <= 8
    assert len(rehearsal.list_requests()) == 1


async def test_too_long_said_in_the_middle_of_a_reply_pauses_it_and_asks_nothing_again(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    await play_turn(service, rosa, rehearsal, question="Good morning.")
    # With a dialogue to leave out, the same failure before the first word would be asked once more.
    fault = {"error": "context_length", "after": 4, "pace_ms": 40}
    turn = await play_broken_turn(service, rosa, rehearsal, fault=fault)
    assert (turn.state, turn.reason) == ("paused", "too_long")
    assert [one.words for one in get_attempts(turn.pk)] == [len(turn.reply.split())]
    assert len(rehearsal.list_requests()) == 2


async def test_the_next_turn_opens_with_i_am_back_and_asks_the_held_question_first(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"cut": "fin", "after": 5}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("What helps against fear?")
        await page.ending()
        await page.say("hello?")
        ending = await page.ending()
    assert page.kinds(ending["turn"]) == ["accepted", "opening", "words", "complete"]
    [opening] = [frame for frame in page.frames if frame["type"] == "opening"]
    assert (opening["kind"], opening["line"]) == ("i_am_back", BACK)
    prompt = rehearsal.list_requests()[-1]["messages"]
    assert [message["role"] for message in prompt] == ["system", "user"]
    asked = prompt[-1]["content"]
    assert asked.index("What helps against fear?") < asked.index("hello?")
    assert BACK not in asked and PAUSE not in asked
    paused, answer = rosa.turns()
    assert paused.answered_by_id == answer.pk


async def test_two_failures_in_a_row_hold_both_questions_and_say_i_am_back_only_once_there_is_a_word(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"status": 400}, times=2)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        for text in ("First question?", "Second question?"):
            await page.say(text)
            ending = await page.ending()
            assert page.kinds(ending["turn"]) == ["accepted", "paused"]
        await page.say("Third question?")
        ending = await page.ending()
        assert page.kinds(ending["turn"]) == ["accepted", "opening", "words", "complete"]
        await page.say("And a fourth.")
        last = await page.ending()
        assert "opening" not in page.kinds(last["turn"])
    asked = rehearsal.list_requests()[2]["messages"][-1]["content"]
    assert asked.index("First question?") < asked.index("Second question?") < asked.index("Third question?")
    first, second, third, _ = rosa.turns()
    assert first.answered_by_id == second.answered_by_id == third.pk


async def test_held_questions_that_were_answered_stand_before_their_answer_in_later_prompts(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"status": 400}, times=1)
    rehearsal.inject({"pieces": ["Half", " an", " answer"], "cut": "fin", "after": 3}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        for text in ("My cat is called Mimi.", "And my dog is called Rex.", "And my bird?", "Who is Mimi?"):
            await page.say(text)
            await page.ending()
    _, *asked = rehearsal.list_requests()[-1]["messages"]
    *_, answer, _ = rosa.turns()
    assert [(one["role"], one["content"]) for one in asked] == [
        ("user", "My cat is called Mimi.\n\nAnd my dog is called Rex.\n\nAnd my bird?"),
        ("assistant", answer.reply),
        ("user", "Who is Mimi?"),
    ]


async def test_a_held_question_that_was_being_answered_when_it_was_stopped_stands_before_those_words(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"status": 400}, times=1)
    rehearsal.inject({"pieces": ["Fear", *[" passes"] * 200], "pace_ms": 50}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("What helps against fear?")
        await page.ending()
        await page.say("Hello?")
        turn = (await page.until("words"))["turn"]
        await page.send({"type": "stop", "turn": turn})
        assert (await page.ending())["type"] == "stopped"
        await page.say("Please go on.")
        assert (await page.ending())["type"] == "complete"
    _, before, said, now = rehearsal.list_requests()[-1]["messages"]
    assert before["content"] == "What helps against fear?\n\nHello?"
    assert said["content"].startswith("Fear") and said["content"].endswith("…")
    assert now["content"].endswith("What helps against fear?\n\nPlease go on."), "it is held on"


async def test_of_held_questions_too_many_for_the_window_the_oldest_are_answered_first(
    another_web: Callable[..., Web], people: People, lanes: Lanes
) -> None:
    web, rosa = another_web(**lanes.write_settings(context_tokens=5_000), COMPANION_ATTEMPTS="1"), people.rosa
    lanes.primary.inject({"status": 401}, times=3)
    async with Page(web.socket_url, rosa.sign_in(web.url)) as page:
        for name in ("First", "Second", "Third"):
            await page.say(f"{name}: {'word ' * 780}")
            assert (await page.ending())["type"] == "paused"
        for _ in range(2):
            await page.say("Hello?")
            assert (await page.ending())["type"] == "complete"
    first, second, third, earlier, later = rosa.turns()
    one, two = (asked["messages"][-1]["content"] for asked in lanes.primary.list_requests()[3:])
    assert one.index("First:") < one.index("Second:") < one.index("Hello?")
    assert "Third:" not in one
    assert "Third:" in two and "Second:" not in two
    assert [turn.answered_by_id for turn in (first, second, third)] == [earlier.pk, earlier.pk, later.pk]


async def test_of_a_second_half_answer_neither_its_words_nor_its_opening_are_in_any_read(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    cookie = people.rosa.sign_in(service.url)
    rehearsal.inject({"pieces": ["Half", " an", " answer"], "cut": "fin", "after": 3}, times=2)
    async with Page(service.socket_url, cookie) as page:
        for text in ("First question?", "Second question?"):
            await page.say(text)
            ending = await page.ending()
        assert page.kinds(ending["turn"]) == ["accepted", "opening", "words", "paused"]
    async with Page(service.socket_url, cookie) as page:
        snapshots = (await page.next())["conversation"]["turns"]
        await page.say("Third question?")
        assert (await page.ending())["type"] == "complete"
    assert [(one["openings"], one["reply"], one["line"]) for one in snapshots] == [([], "", PAUSE)] * 2
    assert "Half" not in str(rehearsal.list_requests()[-1]["messages"])


async def test_a_question_whose_hold_has_run_out_is_not_answered_unasked(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    expired = await play_broken_turn(service, rosa, rehearsal, question="What helps against fear?")
    expire_hold(expired)
    answer = await play_turn(service, rosa, rehearsal, question="Good morning.")
    assert (answer.state, answer.openings) == ("complete", [])
    assert "What helps against fear?" not in str(rehearsal.list_requests()[-1]["messages"])
    assert rosa.turns()[0].answered_by_id is None


async def test_a_stopped_turn_in_between_leaves_the_held_question_held(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"cut": "fin", "after": 3}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("What helps against fear?")
        await page.ending()
        rehearsal.inject({"hang": "before_word"}, times=1)
        await page.say("Never mind.")
        turn = (await page.until("accepted"))["turn"]
        await page.send({"type": "stop", "turn": turn})
        assert (await page.ending())["type"] == "stopped"
        rehearsal.clear()
        await page.say("Still there?")
        ending = await page.ending()
    assert "opening" in page.kinds(ending["turn"])
    asked = rehearsal.list_requests()[-1]["messages"][-1]["content"]
    assert "What helps against fear?" in asked
    assert "Never mind." not in asked


@pytest.mark.parametrize("fault", [{"finish": "content_filter", "words": 6}, {"refusal": True, "words": 6}])
async def test_a_refusal_keeps_what_was_said_answers_with_a_drafted_line_and_is_not_asked_again(
    service: Web, people: People, rehearsal: Rehearsal, fault: dict[str, object]
) -> None:
    rosa = people.rosa
    rehearsal.inject(fault, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Something difficult.")
        ending = await page.ending()
        assert ending["line"].startswith("I cannot talk about that here.")
        await page.say("Then something else.")
        last = await page.ending()
        assert "opening" not in page.kinds(last["turn"])
    assert [turn.held_until for turn in rosa.turns()] == [None, None]
    assert "Something difficult." not in str(rehearsal.list_requests()[-1]["messages"])


async def test_a_call_that_fails_before_its_first_word_is_tried_again_unseen(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"status": 503}, times=1)
    async with Page(service.socket_url, rosa.sign_in(service.url)) as page:
        await page.say("Good morning.")
        ending = await page.ending()
    assert page.kinds(ending["turn"]) == ["accepted", "words", "complete"]
    [stored] = rosa.turns()
    attempts = get_attempts(stored.pk)
    assert [(one.failure, one.status) for one in attempts] == [("server_error", 503), ("", 200)]
    assert attempts[1].waited_s > 0


async def test_a_reply_at_the_length_limit_is_complete_and_says_that_it_was_shortened(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    rehearsal.inject({"finish": "length", "words": 12}, times=1)
    cookie = rosa.sign_in(service.url)
    async with Page(service.socket_url, cookie) as page, Page(neighbour.socket_url, cookie) as second:
        await second.next()
        await page.say("Tell me all of it.")
        ending = await page.ending()
        assert (ending["type"], ending["line"]) == ("complete", SHORTENED)
        assert await second.ending() == ending
        await page.send({"type": "catch_up", "turn": ending["turn"], "after": 0})
        assert await page.ending() == ending
        await page.say("Please go on.")
        assert "line" not in await page.ending(), "a whole reply has no line"
    async with Page(neighbour.socket_url, cookie) as page:
        snapshots = (await page.next())["conversation"]["turns"]
    assert [(one["state"], one["line"]) for one in snapshots] == [("complete", SHORTENED), ("complete", "")]
    stored = rosa.turns()[0]
    assert stored.shortened
    assert SHORTENED not in stored.reply
    assert SHORTENED not in str(rehearsal.list_requests()[-1]["messages"]), "drafted lines are never sent"
