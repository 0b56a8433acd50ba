"""Rights at the desk's socket end while it is open, and operators state a reason (S5, S10)."""

import time
import uuid
from datetime import datetime

from django.contrib.auth.models import User

from companion.models import Control, Site, TranscriptEntry
from ops.models import GroupedSite, GroupSupervision, SiteGroup, Supervision
from tests.desk_socket import Desk, sign_staff_in
from tests.page_socket import Page
from tests.patience import until
from tests.people import People, in_database
from tests.processes import Web
from tests.staff import list_recorded, open_staff_client


def add_group(people: People, user: User, name: str) -> SiteGroup:
    """A group without sites, which this member of staff has."""
    group = in_database(lambda: SiteGroup.objects.create(slug=f"{name}-{people.password}", name=name))
    in_database(lambda: GroupSupervision.objects.create(user=user, group=group))
    return group


async def test_a_right_that_is_withdrawn_ends_the_reading_and_the_take_over_and_the_flag_rings(
    service: Web, people: People
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk.sign_in(service, people, people.add_supervisor("mira")) as colleague,
        Desk.sign_in(service, people, sam) as desk,
    ):
        await desk.take_over(conversation)
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


async def test_a_group_that_is_withdrawn_blanks_the_screen_and_a_site_that_joins_it_shows(
    service: Web, people: People
) -> None:
    tom = people.add_supervisor("tom", site=people.elsewhere)
    group = add_group(people, tom, "north")
    conversation = people.rosa.conversation.pk
    async with Desk.sign_in(service, people, tom) as desk:
        assert conversation not in [one["conversation"] for one in desk.hello["people"]]
        in_database(lambda: GroupedSite.objects.create(group=group, site=people.site))
        await desk.until("rights")
    async with Desk.sign_in(service, people, tom) as desk:
        assert (await desk.act("watch", conversation=conversation))["type"] == "done"
        in_database(lambda: GroupSupervision.objects.filter(user=tom).delete())
        began = time.monotonic()
        await desk.until("rights")
        assert time.monotonic() - began < 2
        assert (await desk.act("watch", conversation=conversation))["code"] == "not_there"


async def test_a_site_that_moves_to_another_group_of_the_same_person_keeps_their_take_over_and_one_that_leaves_ends_it(
    service: Web, people: People
) -> None:
    rosa, tom = people.rosa, people.add_supervisor("tom", site=people.elsewhere)
    cookie, conversation = rosa.sign_in(service.url), rosa.conversation.pk
    north, south = add_group(people, tom, "north"), add_group(people, tom, "south")
    third = in_database(lambda: Site.objects.create(slug=f"third-{people.password}", name="Third house"))
    in_database(lambda: GroupedSite.objects.create(group=north, site=people.site))
    async with Page(service.socket_url, cookie) as page, Desk.sign_in(service, people, tom) as desk:
        await desk.take_over(conversation)
        await page.until("person")
        in_database(lambda: GroupedSite.objects.create(group=south, site=people.site))
        in_database(lambda: GroupedSite.objects.filter(group=north).delete())
        # A site that joins after the move shows that the move was looked at.
        in_database(lambda: GroupedSite.objects.create(group=south, site=third))
        await desk.until("rights")
        said = await desk.act(
            "say", conversation=conversation, key=str(uuid.uuid4()), text="I am still here."
        )
        assert said["type"] == "done"

        in_database(lambda: GroupedSite.objects.filter(group=south, site=people.site).delete())
        assert (await page.until("person"))["state"] == "lost"
        refused = await desk.act("say", conversation=conversation, key=str(uuid.uuid4()), text="Hello?")
        assert refused["code"] == "not_there"
    assert in_database(lambda: Control.objects.get(conversation=conversation).person) is None


async def test_words_of_someone_whose_right_went_a_moment_ago_are_refused_before_their_screen_knows(
    service: Web, people: People
) -> None:
    rosa, sam = people.rosa, people.add_sam()
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk.sign_in(service, people, sam) as desk,
    ):
        await desk.take_over(conversation)
        await page.until("person")
        key = str(uuid.uuid4())
        stored = await desk.act("say", conversation=conversation, key=key, text="I am here.")
        assert stored["type"] == "done"
        await page.until("said")
        seen = len(desk.frames)
        in_database(lambda: Supervision.objects.filter(user=sam).delete())
        ref = "late"
        words = {"conversation": conversation, "key": str(uuid.uuid4()), "text": "Are you there?"}
        await desk.send({"type": "say", "ref": ref, **words})
        refused = await desk.until("refused", where=lambda frame: frame.get("ref") == ref)
        assert refused["code"] == "not_there" and refused["text"]
        assert (await page.until("person"))["state"] == "lost"
        await desk.until("rights")
        # A further act, whose answer comes after everything before it.
        await desk.act("search", text="ro")
        answers = [frame for frame in desk.frames[seen:] if frame.get("ref") == ref]
        assert [frame["type"] for frame in answers] == ["refused"]
        assert page.kinds().count("said") == 1
    said = TranscriptEntry.objects.filter(conversation=conversation, kind="said")
    assert in_database(lambda: list(said.values_list("text", flat=True))) == ["I am here."]


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
            await desk.take_over(conversation)
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
            # The second tab of the same person keeps the take-over: its process renews the lease.
            for _ in range(2):
                await wait_for_renewal(conversation)
            assert in_database(lambda: Control.objects.get(conversation=conversation).person) == sam.pk
        async with Desk.sign_in(service, people, people.add_supervisor("mira")) as colleague:
            lost = await page.until("person", within_s=30)
            assert lost["state"] == "lost"
            flag = await colleague.flag(kind="screen_lost", conversation=conversation)
            assert (flag["tier"], flag["state"]) == ("red", "open")


async def wait_for_renewal(conversation: int) -> None:
    def read_seen_at() -> datetime | None:
        return in_database(lambda: Control.objects.get(conversation=conversation)).person_seen_at

    before = read_seen_at()
    assert before is not None
    await until(lambda: (now := read_seen_at()) is not None and now > before)


async def test_an_operator_sees_no_name_or_word_without_a_reason_and_the_staff_see_the_reason(
    service: Web, people: People
) -> None:
    rosa = people.rosa
    cookie = rosa.sign_in(service.url)
    conversation = rosa.conversation.pk
    async with (
        Page(service.socket_url, cookie) as page,
        Desk.sign_in(service, people, people.add_ines()) as ines,
        Desk.sign_in(service, people, people.add_sam()) as sam,
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
    assert list_recorded(rosa)[:2] == ["stated_reason", "read_along"]


async def test_a_reason_of_which_a_reader_sees_nothing_opens_no_conversation(
    service: Web, people: People
) -> None:
    conversation = people.rosa.conversation.pk
    async with Desk.sign_in(service, people, people.add_ines()) as ines:
        for reason in ("\u200b\u2060", "\x00 ", "\u3164"):
            refused = await ines.act("watch", conversation=conversation, reason=reason)
            assert refused["code"] == "reason_needed"
