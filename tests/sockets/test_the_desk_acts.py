"""Acts at the desk's socket: taking over, writing, pausing, ending a visit, each answered once (S4, S5)."""

import asyncio
import itertools
import time
import uuid

import pytest

from companion.models import StaffPause, TranscriptEntry
from tests.desk_socket import Desk
from tests.page_socket import Page
from tests.people import People, in_database
from tests.processes import Rehearsal, Web
from tests.staff import list_recorded


async def test_a_person_takes_over_writes_and_hands_back_and_each_word_is_stored_once(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk.sign_in(neighbour, people, sam) as desk,
    ):
        assert (await desk.act("watch", conversation=conversation))["type"] == "done"
        watched = await desk.until("watched")
        assert (watched["name"], watched["turns"], watched["person"]) == ("Rosa", [], None)
        rehearsal.inject({"pieces": ["Once", *[" upon"] * 200], "pace_ms": 40}, times=1)
        await page.say("Tell me a long story.")
        accepted = await desk.until("accepted")
        assert (accepted["question"], accepted["conversation"]) == ("Tell me a long story.", conversation)
        await desk.until("words")
        early = await desk.act("say", conversation=conversation, key=str(uuid.uuid4()), text="Hello")
        assert early["code"] == "not_taken_over"
        assert (await desk.act("take_over", conversation=conversation))["type"] == "done"
        assert (await page.until("person"))["state"] == "joins"
        seen = len(page.frames)
        key = str(uuid.uuid4())
        for _ in range(2):
            done = await desk.act("say", conversation=conversation, key=key, text="Hello, Rosa.")
            assert done["type"] == "done" and done["key"] == key
        said = await page.until("said")
        assert (said["text"], said["key"]) == ("Hello, Rosa.", key)
        await page.say("Hello!")
        assert (await desk.until("accepted"))["question"] == "Hello!"
        too_long = await desk.act("say", conversation=conversation, key=str(uuid.uuid4()), text="x" * 4_001)
        assert too_long["code"] == "too_long"
        assert (await desk.act("hand_back", conversation=conversation))["type"] == "done"
        assert (await page.until("person"))["state"] == "leaves"
        assert "words" not in {frame["type"] for frame in page.frames[seen:]}
        late = await desk.act("say", conversation=conversation, key=str(uuid.uuid4()), text="One more.")
        assert late["code"] == "not_taken_over" and "in the box" in late["text"]
        again = await desk.act("say", conversation=conversation, key=key, text="Hello, Rosa.")
        assert again["type"] == "done" and again["entry"] == done["entry"]
    texts = in_database(
        lambda: list(
            TranscriptEntry.objects.filter(conversation=conversation, kind="said").values_list(
                "text", flat=True
            )
        )
    )
    assert texts == ["Hello, Rosa."]
    assert list_recorded(rosa) == ["read_along", "took_over", "said", "handed_back"]


async def test_two_members_of_staff_one_takes_over_and_the_other_reads_who(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa, sam, mira = people.rosa, people.add_sam(), people.add_supervisor("mira")
    rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Desk.sign_in(service, people, sam) as one,
        Desk.sign_in(neighbour, people, mira) as two,
    ):
        answers = await asyncio.gather(
            one.act("take_over", conversation=conversation), two.act("take_over", conversation=conversation)
        )
        assert sorted(answer["type"] for answer in answers) == ["done", "refused"]
        [refused] = [answer for answer in answers if answer["type"] == "refused"]
        owner = sam if answers[0]["type"] == "done" else mira
        assert refused["code"] == "taken" and owner.get_username() in refused["text"]


async def test_a_staff_message_to_an_ended_visit_is_refused_and_nothing_is_stored(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Desk.sign_in(service, people, people.add_sam()) as desk,
        Page(service.socket_url, cookie) as page,
    ):
        [item] = desk.hello["people"]
        await desk.take_over(conversation)
        assert (await desk.act("end_visit", visit=item["visit"]))["type"] == "done"
        assert await page.close_code() == 4401
        assert (await desk.act("end_visit", visit=item["visit"]))["code"] == "visit_ended"
        refused = await desk.act("say", conversation=conversation, key=str(uuid.uuid4()), text="Hello?")
        assert refused["code"] == "visit_ended" and "in the box" in refused["text"]
        gone = await desk.gone(conversation)
        assert gone["changed"] == []
    assert "ended_visit" in list_recorded(rosa) and "said" not in list_recorded(rosa)
    said = TranscriptEntry.objects.filter(conversation=conversation, kind="said")
    assert not in_database(said.exists)


async def test_words_that_meet_a_hand_back_from_another_screen_are_stored_before_it_or_refused(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk.sign_in(service, people, sam) as one,
        Desk.sign_in(neighbour, people, sam) as two,
    ):
        stored = []
        for number in range(12):
            assert (await one.act("take_over", conversation=conversation))["type"] == "done"
            assert (await page.until("person"))["state"] == "joins"
            words = {"conversation": conversation, "key": str(uuid.uuid4()), "text": f"Words {number}"}
            writers = [one.act("say", **words), two.act("hand_back", conversation=conversation)]
            # Which of them arrives first alternates.
            answers = await asyncio.gather(*(writers if number % 2 else reversed(writers)))
            said, left = answers if number % 2 else reversed(answers)
            assert left["type"] == "done"
            if said["type"] == "done":
                stored.append(words["text"])
            else:
                assert said["code"] == "not_taken_over" and "in the box" in said["text"]
            assert (await page.until("person"))["state"] == "leaves"
        # Of the words that are on the page, each came while the person was there.
        shown = [frame for frame in page.frames if frame["type"] in ("said", "person")]
        assert [frame["text"] for frame in shown if frame["type"] == "said"] == stored
        for before, frame in itertools.pairwise(shown):
            assert frame["type"] != "said" or before.get("state") == "joins"
    entries = TranscriptEntry.objects.filter(conversation=conversation, kind="said").order_by("id")
    assert in_database(lambda: list(entries.values_list("text", flat=True))) == stored


@pytest.mark.parametrize("scope", ["person", "site"])
async def test_a_pause_stops_replies_on_every_process_within_a_second_and_a_resume_lets_them_go_on(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal, scope: str
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    about = rosa.row.pk if scope == "person" else people.site.pk
    async with (
        Page(neighbour.socket_url, cookie) as page,
        Desk.sign_in(service, people, people.add_sam()) as desk,
    ):
        rehearsal.inject({"pieces": ["Once", *[" upon"] * 200], "pace_ms": 40}, times=1)
        await page.say("Tell me a long story.")
        await page.until("words")
        assert (await desk.act("pause", scope=scope, id=about, reason=" "))["code"] == "reason_missing"
        began = time.monotonic()
        assert (await desk.act("pause", scope=scope, id=about, reason="Fire drill"))["type"] == "done"
        paused = await page.until("paused")
        assert time.monotonic() - began < 3
        assert paused["line"] and rosa.turns()[-1].reason == "staff_pause"
        assert (await desk.person(rosa.conversation.pk))["paused"]["reason"] == "Fire drill"
        assert (await desk.act("pause", scope=scope, id=about, reason="Again"))["code"] == "paused_already"
        assert (await desk.act("resume", scope=scope, id=about))["type"] == "done"
        assert (await desk.act("resume", scope=scope, id=about))["code"] == "not_paused"
        await page.say("And now?")
        assert (await page.ending())["type"] == "complete"
    assert in_database(lambda: StaffPause.objects.filter(about=about, ended_at=None).count()) == 0


async def test_only_those_whose_everyone_it_is_pause_everyone(service: Web, people: People) -> None:
    async with Desk.sign_in(service, people, people.add_sam()) as desk:
        refused = await desk.act("pause", scope="everyone", reason="Fire drill")
        assert refused["code"] == "not_allowed"
        elsewhere = await desk.act("pause", scope="site", id=people.elsewhere.pk, reason="Fire drill")
        assert elsewhere["code"] == "not_there"


async def test_no_word_of_the_companion_follows_any_of_many_take_overs_from_another_process(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    rehearsal.inject({"pieces": ["Once", *[" upon"] * 400], "pace_ms": 5})
    async with (
        Page(service.socket_url, cookie) as page,
        Desk.sign_in(neighbour, people, people.add_sam()) as desk,
    ):
        for number in range(15):
            await page.say(f"Tell me story {number}.")
            turn = (await page.until("accepted"))["turn"]
            await asyncio.sleep(0.02 * (number % 8))
            assert (await desk.act("take_over", conversation=conversation))["type"] == "done"
            assert (await page.until("person"))["state"] == "joins"
            seen = len(page.frames)
            assert (await desk.act("hand_back", conversation=conversation))["type"] == "done"
            assert (await page.until("person"))["state"] == "leaves"
            assert "words" not in {frame["type"] for frame in page.frames[seen:]}
            stored = next(one for one in rosa.turns() if one.pk == turn)
            assert stored.state == "handed_over" and stored.reply == page.words(turn)
