"""The desk's socket: who is here, what rings, and each act answered once (S2, S4, S5, S10)."""

import asyncio
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from companion import drafts
from companion.models import Control, Flag, Site, StaffPause, TranscriptEntry, Visit
from companion.notifications import NOTIFY, FlagsChanged, notify_parameters
from companion.supervision.causes import FlagCause
from companion.supervision.flags import raise_flag
from companion.supervision.states import FlagSource, FlagTier
from ops.models import AuditEntry, Supervision
from ops.project.wiring import build_turn_policy
from ops.stack.postgres import EmbeddedPostgres
from ops.supervision.people import WRITING_S
from tests.desk_socket import Desk, sign_staff_in
from tests.page_socket import Page
from tests.people import People, Person, in_database
from tests.processes import Rehearsal, Web
from tests.sinks import start_hook
from tests.staff import get_audit_entries, open_staff_client
from tests.supervised import Supervisor


async def ring(database: EmbeddedPostgres, person: Person, *, kind: str = "self_harm") -> int:
    """Raise a red flag as the process of a participant does."""
    async with Supervisor(database.url, person) as one:
        return await ring_over(one, kind=kind)


async def ring_over(one: Supervisor, *, kind: str) -> int:
    """Raise a red flag over an open connection."""
    cause = FlagCause(conversation=one.conversation, tier=FlagTier.RED, kind=kind, source=FlagSource.MESSAGE)
    async with one.connection.transaction(), one.connection.cursor() as cursor:
        raised = await raise_flag(cursor, cause)
        assert raised is not None
        changed = FlagsChanged(flags=((raised.flag, raised.site),))
        await cursor.execute(NOTIFY, notify_parameters(changed))
    return raised.flag


def records(person: Person) -> list[str]:
    return [entry.what for entry in get_audit_entries(person)]


async def test_the_hello_says_who_is_here_and_changes_follow(
    service: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, otto = people.rosa, people.otto
    cookie = rosa.sign_in(service.url)
    otto.sign_in(service.url)
    async with Desk(service, sign_staff_in(service, people, people.add_sam())) as desk:
        [item] = desk.hello["people"]
        assert (item["name"], item["conversation"], item["turn"]) == ("Rosa", rosa.conversation.pk, "idle")
        assert desk.hello["user"]["operator"] is False
        async with Page(service.socket_url, cookie) as page:
            await desk.person(rosa.conversation.pk, page_open=True)
            rehearsal.inject({"pieces": ["word "] * 100, "pace_ms": 50}, times=1)
            await page.say("Good morning.")
            await desk.person(rosa.conversation.pk, turn="being_answered")
            await page.ending()
            await desk.person(rosa.conversation.pk, turn="idle")
    assert not any(
        item["participant"] == otto.row.pk
        for frame in desk.frames
        for item in frame.get("changed") or frame.get("people") or ()
    )


async def test_a_flag_reaches_every_screen_of_the_site_at_once_and_none_of_others(
    service: Web, neighbour: Web, people: People, database: EmbeddedPostgres
) -> None:
    sam, stranger = people.add_sam(), people.add_supervisor("olga", site=people.elsewhere)
    rosa = people.rosa
    async with (
        Desk(service, sign_staff_in(service, people, sam)) as one,
        Desk(neighbour, sign_staff_in(neighbour, people, sam)) as two,
        Desk(service, sign_staff_in(service, people, stranger)) as other,
    ):
        began = time.monotonic()
        flag = await ring(database, rosa)
        for desk in (one, two):
            frame = await desk.flag(id=flag, state="open")
            assert (frame["tier"], frame["conversation"], frame["owner"]) == (
                "red",
                rosa.conversation.pk,
                None,
            )
        assert time.monotonic() - began < 2
        assert (await one.act("seen", flag=flag))["type"] == "done"
        assert (await two.flag(id=flag))["seen_at"]
        assert (await other.act("accept", flag=flag))["code"] == "not_there"
        assert not [frame for frame in other.frames if frame["type"] == "flag"]


async def test_of_two_processes_one_accepts_and_the_other_reads_the_name(
    service: Web, neighbour: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa, sam, mira = people.rosa, people.add_sam(), people.add_supervisor("mira")
    async with (
        Desk(service, sign_staff_in(service, people, sam)) as one,
        Desk(neighbour, sign_staff_in(neighbour, people, mira)) as two,
    ):
        for _ in range(10):
            flag = await ring(database, rosa, kind=f"k{uuid.uuid4().hex[:8]}")
            answers = await asyncio.gather(one.act("accept", flag=flag), two.act("accept", flag=flag))
            assert sorted(answer["type"] for answer in answers) == ["done", "refused"]
            [refused] = [answer for answer in answers if answer["type"] == "refused"]
            owner = sam if answers[0]["type"] == "done" else mira
            assert refused["code"] == "accepted" and owner.get_username() in refused["text"]
            assert in_database(partial(Flag.objects.get, pk=flag)).owner == owner.pk


async def test_a_flag_is_noted_handed_taken_on_and_closed_by_its_owner(
    service: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa, sam, mira = people.rosa, people.add_sam(), people.add_supervisor("mira")
    flag = await ring(database, rosa)
    async with (
        Desk(service, sign_staff_in(service, people, sam)) as his,
        Desk(service, sign_staff_in(service, people, mira)) as hers,
    ):
        assert [one["id"] for one in his.hello["flags"]] == [flag]
        assert {one["id"] for one in his.hello["colleagues"]} >= {sam.pk, mira.pk}
        assert (await his.act("close", flag=flag, outcome="unsure", note="x"))["code"] == "not_accepted"
        assert (await his.act("accept", flag=flag))["type"] == "done"
        assert (await his.act("note", flag=flag, text="I called her."))["type"] == "done"
        assert (await his.act("hand", flag=flag, to=2**40))["code"] == "cannot_receive"
        assert (await his.act("hand", flag=flag, to=mira.pk))["type"] == "done"
        assert (await hers.flag(id=flag, handed_to=mira.pk))["owner"] == sam.pk
        assert (await hers.act("take_on", flag=flag))["type"] == "done"
        refused = await his.act("close", flag=flag, outcome="concern", note="Done.")
        assert refused["code"] == "not_owner" and mira.get_username() in refused["text"]
        assert (await hers.act("close", flag=flag, outcome="concern", note=" "))["code"] == "note_missing"
        assert (await hers.act("close", flag=flag, outcome="concern", note="Done."))["type"] == "done"
        assert (await his.flag(id=flag, state="closed"))["outcome"] == "concern"
    kept = [what for what in records(rosa) if "flag" in what]
    assert kept == ["accepted_flag", "noted_flag", "handed_flag", "took_on_flag", "closed_flag"]


async def test_a_person_takes_over_writes_and_hands_back_and_each_word_is_stored_once(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk(neighbour, sign_staff_in(neighbour, people, sam)) as desk,
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
    assert records(rosa) == ["read_along", "took_over", "said", "handed_back"]


async def test_two_members_of_staff_one_takes_over_and_the_other_reads_who(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa, sam, mira = people.rosa, people.add_sam(), people.add_supervisor("mira")
    rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Desk(service, sign_staff_in(service, people, sam)) as one,
        Desk(neighbour, sign_staff_in(neighbour, people, mira)) as two,
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
        Desk(service, sign_staff_in(service, people, people.add_sam())) as desk,
        Page(service.socket_url, cookie) as page,
    ):
        [item] = desk.hello["people"]
        await desk.act("watch", conversation=conversation)
        await desk.act("take_over", conversation=conversation)
        assert (await desk.act("end_visit", visit=item["visit"]))["type"] == "done"
        assert await page.close_code() == 4401
        assert (await desk.act("end_visit", visit=item["visit"]))["code"] == "visit_ended"
        refused = await desk.act("say", conversation=conversation, key=str(uuid.uuid4()), text="Hello?")
        assert refused["code"] == "visit_ended"
        gone = await desk.until("people", where=lambda frame: conversation in frame["gone"])
        assert gone["changed"] == []
    assert "ended_visit" in records(rosa)


@pytest.mark.parametrize("scope", ["person", "site"])
async def test_a_pause_stops_replies_on_every_process_within_a_second_and_a_resume_lets_them_go_on(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal, scope: str
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    about = rosa.row.pk if scope == "person" else people.site.pk
    async with (
        Page(neighbour.socket_url, cookie) as page,
        Desk(service, sign_staff_in(service, people, people.add_sam())) as desk,
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
    async with Desk(service, sign_staff_in(service, people, people.add_sam())) as desk:
        refused = await desk.act("pause", scope="everyone", reason="Fire drill")
        assert refused["code"] == "not_allowed"
        elsewhere = await desk.act("pause", scope="site", id=people.elsewhere.pk, reason="Fire drill")
        assert elsewhere["code"] == "not_there"


async def test_a_right_that_is_withdrawn_ends_the_reading_and_the_take_over_and_the_flag_rings(
    service: Web, people: People
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk(service, sign_staff_in(service, people, people.add_supervisor("mira"))) as colleague,
        Desk(service, sign_staff_in(service, people, sam)) as desk,
    ):
        await desk.act("watch", conversation=conversation)
        await desk.act("take_over", conversation=conversation)
        await page.until("person")
        in_database(lambda: Supervision.objects.filter(user=sam).delete())
        began = time.monotonic()
        await desk.until("rights")
        assert time.monotonic() - began < 3
        assert (await page.until("person"))["state"] == "lost"
        ringing = await colleague.flag(kind="screen_lost", conversation=conversation)
        assert ringing["tier"] == "red"
        refused = await desk.act("say", conversation=conversation, key=str(uuid.uuid4()), text="Hello?")
        assert refused["code"] == "not_there"
        seen = len(desk.frames)
        await page.say("Is anyone there?")
        await page.until("accepted")
        await desk.act("search", text="ro")
        assert not [frame for frame in desk.frames[seen:] if frame.get("conversation") == conversation]
    assert in_database(lambda: Control.objects.get(conversation=conversation).person) is None


async def test_a_sign_out_closes_the_screen_and_ends_the_take_over_before_its_lease(
    service: Web, people: People
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    with open_staff_client(service, sam, people.password) as client:
        async with (
            Page(service.socket_url, cookie) as page,
            Desk(service, client.cookies["companion"]) as desk,
        ):
            await desk.act("watch", conversation=conversation)
            await desk.act("take_over", conversation=conversation)
            await page.until("person")
            client.get("/staff/sign-in/")
            form = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
            began = time.monotonic()
            answer = client.post("/staff/sign-out/", data=form, headers={"Origin": service.url})
            assert answer.status_code == 302
            assert await desk.close_code() == 4401
            assert (await page.until("person"))["state"] == "lost"
            assert time.monotonic() - began < 10


async def test_a_take_over_whose_screen_is_gone_ends_after_its_lease_and_rings(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    staff_cookie = sign_staff_in(service, people, sam)
    async with Page(service.socket_url, cookie) as page:
        async with Desk(service, staff_cookie) as first, Desk(neighbour, staff_cookie) as second:
            for desk in (first, second):
                await desk.act("watch", conversation=conversation)
            await first.act("take_over", conversation=conversation)
            await page.until("person")
            await first.connection.close()
            # The second tab of the same person keeps the take-over.
            await asyncio.sleep(4)
            assert in_database(lambda: Control.objects.get(conversation=conversation).person) == sam.pk
        async with Desk(service, sign_staff_in(service, people, people.add_supervisor("mira"))) as colleague:
            lost = await page.until("person", within_s=30)
            assert lost["state"] == "lost"
            flag = await colleague.flag(kind="screen_lost", conversation=conversation)
            assert (flag["tier"], flag["state"]) == ("red", "open")


async def test_an_operator_sees_no_name_or_word_without_a_reason_and_the_staff_see_the_reason(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk(service, sign_staff_in(service, people, people.add_ines())) as ines,
        Desk(service, sign_staff_in(service, people, people.add_sam())) as sam,
    ):
        [item] = [one for one in ines.hello["people"] if one["conversation"] == conversation]
        assert item["name"] == "" and item["turn"] == "idle"
        for act in ("watch", "take_over"):
            assert (await ines.act(act, conversation=conversation))["code"] == "reason_needed"
        done = await ines.act("watch", conversation=conversation, reason="A complaint about a reply")
        assert done["type"] == "done"
        await ines.until("watched")
        told = await sam.until("reasons", where=lambda frame: bool(frame["reasons"]))
        [reason] = told["reasons"]
        assert (reason["reason"], reason["conversation"]) == ("A complaint about a reply", conversation)
        await page.say("Hello there.")
        assert (await ines.until("accepted"))["question"] == "Hello there."
        await sam.person(conversation)
    assert records(rosa)[:2] == ["stated_reason", "read_along"]


async def test_odd_frames_are_refused_in_one_frame_each_and_the_screen_stays_open(
    service: Web, people: People
) -> None:
    async with Desk(service, sign_staff_in(service, people, people.add_sam())) as desk:
        for odd, code in (
            ("", "bad_frame"),
            ("[]", "bad_frame"),
            ("null", "bad_frame"),
            ("[" * 5_000, "bad_frame"),
            ('{"type":"sing"}', "bad_frame"),
            ('{"type":"ping","text":"' + "x" * 70_000 + '"}', "too_long"),
        ):
            await desk.send(odd)
            assert (await desk.until("problem"))["code"] == code
        for bad in (
            {"type": "accept", "flag": "12"},
            {"type": "accept", "flag": 2**63},
            {"type": "accept", "flag": True},
            {"type": "close", "flag": 1, "outcome": "fine", "note": "x"},
            {"type": "say", "conversation": 1, "key": "k", "text": "x"},
            {"type": "pause", "scope": "planet", "reason": "x"},
            {"type": "end_visit", "visit": "x"},
        ):
            await desk.send(bad)
            refused = await desk.until("refused")
            assert (refused["act"], refused["code"]) == (bad["type"], "bad_frame")
        await desk.send({"type": "ping"})
        await desk.until("pong")


async def test_one_member_of_staff_who_floods_is_slowed_and_a_colleague_is_answered(
    service: Web, people: People, database: EmbeddedPostgres
) -> None:
    rosa, sam, mira = people.rosa, people.add_sam(), people.add_supervisor("mira")
    flag = await ring(database, rosa)
    async with (
        Desk(service, sign_staff_in(service, people, sam)) as flooding,
        Desk(service, sign_staff_in(service, people, mira)) as calm,
    ):
        for _ in range(150):
            await flooding.send({"type": "accept", "flag": 2**40})
        began = time.monotonic()
        assert (await calm.act("accept", flag=flag))["type"] == "done"
        assert time.monotonic() - began < 5
        await flooding.until("refused", where=lambda frame: frame["code"] == "too_fast")


async def test_one_member_of_staff_has_a_bounded_number_of_screens(service: Web, people: People) -> None:
    cookie = sign_staff_in(service, people, people.add_sam())
    desks = [Desk(service, cookie) for _ in range(20)]
    try:
        for desk in desks:
            await desk.__aenter__()
        one_more: Any = Desk(service, cookie)
        with pytest.raises(Exception, match="4403"):
            await one_more.__aenter__()
    finally:
        for desk in desks:
            await desk.__aexit__()


async def test_people_are_found_by_name_at_ones_own_sites_and_the_search_is_on_record(
    service: Web, people: People
) -> None:
    sam = people.add_sam()
    rosa = people.add_participant("Rosalind")
    people.add_participant("Rosamund", site=people.elsewhere)
    async with Desk(service, sign_staff_in(service, people, sam)) as desk:
        found = (await desk.act("search", text="ROSAL"))["people"]
        assert [one["conversation"] for one in found] == [rosa.conversation.pk]
        assert [one["name"] for one in (await desk.act("search", text="rosa"))["people"]] == ["Rosalind"]
        by_site = (await desk.act("search", text=people.site.name))["people"]
        assert rosa.conversation.pk in {one["conversation"] for one in by_site}
        assert (await desk.act("search", text="r"))["code"] == "search_short"
    entries = in_database(
        lambda: list(AuditEntry.objects.filter(who=sam.get_username(), what="searched_people").order_by("id"))
    )
    assert [entry.note for entry in entries] == ["1 found", "1 found", "1 found"]


async def test_what_each_side_types_shows_as_is_writing_on_every_process_and_never_as_text(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk(neighbour, sign_staff_in(neighbour, people, people.add_sam())) as desk,
    ):
        await desk.act("watch", conversation=conversation)
        await desk.act("take_over", conversation=conversation)
        await page.until("person")
        await page.send({"type": "writing"})
        assert await desk.until("writing") == {"type": "writing", "conversation": conversation}
        await desk.person(conversation, turn="writing")
        await desk.send({"type": "writing", "conversation": conversation})
        typing = await page.until("person_writing")
        assert set(typing) == {"type", "line"}


async def test_a_message_that_was_sent_ends_that_its_writer_is_writing(service: Web, people: People) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    sam = sign_staff_in(service, people, people.add_sam())
    async with Page(service.socket_url, cookie) as page, Desk(service, sam) as desk:
        await desk.act("take_over", conversation=conversation)
        await page.until("person")
        await page.send({"type": "writing"})
        in_database(lambda: store_draft(rosa, "I am"))
        await desk.person(conversation, turn="writing")
        await page.say("I am here.")
        # The page saves its empty box, too.
        in_database(lambda: store_draft(rosa, ""))
        # Within less than the time that typing is shown for.
        async with asyncio.timeout(WRITING_S - 2):
            await desk.person(conversation, turn="idle")


def store_draft(person: Person, text: str) -> None:
    visit = Visit.objects.filter(participant=person.row, ended_at=None).latest("opened_at")
    assert drafts.save(visit.pk, conversation=person.conversation.pk, text=text)


async def test_a_screen_that_confirms_a_red_flag_makes_the_line_say_that_staff_know(
    service: Web, neighbour: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    async with (
        Page(service.socket_url, cookie) as page,
        Desk(neighbour, sign_staff_in(neighbour, people, people.add_sam())) as desk,
    ):
        began = time.monotonic()
        await page.say("I want to kill myself tonight.")
        flag = await desk.flag(tier="red", conversation=rosa.conversation.pk)
        await desk.act("seen", flag=flag["id"])
        told = await page.until("safety")
        assert time.monotonic() - began < 5
        assert told["line"].startswith(build_turn_policy().lines.safety_told.split("{")[0])
        await desk.act("accept", flag=flag["id"])
        assert (await desk.person(rosa.conversation.pk, quiet=True))["tier"] == "red"
        assert (await desk.act("release", conversation=rosa.conversation.pk))["type"] == "done"
        assert (await desk.act("release", conversation=rosa.conversation.pk))["code"] == "not_quiet"


async def test_web_processes_ring_on_call_while_there_is_no_worker(
    another_web: Callable[..., Web], people: People, database: EmbeddedPostgres
) -> None:
    with start_hook() as posts:
        another_web(ALERT_WEBHOOK_URL=posts.url)
        in_database(lambda: Site.objects.filter(pk=people.site.pk).update(first_ring_s=1, second_ring_s=2))
        flag = await ring(database, people.rosa)
        deadline = time.monotonic() + 20
        while not [post for post in posts.posts if post["id"] == flag]:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        [post] = [post for post in posts.posts if post["id"] == flag]
        assert people.site.name in post["says"] and "Rosa" not in str(post)
    in_database(lambda: Flag.objects.filter(pk=flag).update(next_stage_at=None))


async def test_no_word_of_the_companion_follows_any_of_many_take_overs_from_another_process(
    service: Web, neighbour: Web, people: People, rehearsal: Rehearsal
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    rehearsal.inject({"pieces": ["Once", *[" upon"] * 400], "pace_ms": 5})
    async with (
        Page(service.socket_url, cookie) as page,
        Desk(neighbour, sign_staff_in(neighbour, people, people.add_sam())) as desk,
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


async def wait_for_blocked(database: EmbeddedPostgres, statement: str) -> None:
    """Wait until a statement that begins so waits for a lock."""
    asked = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND btrim(query, E' \\n') LIKE %s"
    async with (
        asyncio.timeout(20),
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as connection,
    ):
        while await (await connection.execute(asked, [f"{statement}%"])).fetchone() is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_screen_that_opens_while_the_last_one_leaves_is_kept_up_to_date(
    another_web: Callable[..., Web], people: People, database: EmbeddedPostgres
) -> None:
    web, rosa = another_web(), people.rosa
    cookie = sign_staff_in(web, people, people.add_sam())
    desk = Desk(web, cookie)
    async with await psycopg.AsyncConnection.connect(database.url) as blocker:
        async with Desk(web, cookie):
            await blocker.execute("LOCK TABLE ops_deskprocess IN SHARE ROW EXCLUSIVE MODE")
            await wait_for_blocked(database, "INSERT INTO ops_deskprocess")
        await wait_for_blocked(database, "DELETE FROM ops_deskprocess")
        opening = asyncio.create_task(desk.__aenter__())
        await wait_for_blocked(database, "INSERT INTO ops_deskprocess")
        await blocker.rollback()
        await opening
    rosa.sign_in(web.url)
    await desk.person(rosa.conversation.pk, name="Rosa")
    await desk.connection.close()


async def test_a_reason_of_which_a_reader_sees_nothing_opens_no_conversation(
    service: Web, people: People
) -> None:
    conversation = people.rosa.conversation.pk
    async with Desk(service, sign_staff_in(service, people, people.add_ines())) as ines:
        for reason in ("\u200b\u2060", "\x00 ", "\u3164"):
            refused = await ines.act("watch", conversation=conversation, reason=reason)
            assert refused["code"] == "reason_needed"
