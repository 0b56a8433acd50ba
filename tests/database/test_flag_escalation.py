"""A flag that is not accepted rings further: the staff of the site, then on-call, each once and without a name (S2)."""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from companion.models import Flag, FlagStep, Process, Site, Visit
from companion.supervision.states import FlagState
from ops.alerts.condition_queries import CONDITION_QUERIES
from ops.alerts.kinds import AlertKind
from ops.alerts.transports import AlertTransport, EmailTransport, WebhookTransport
from ops.models import Alert, DeskProcess, FlagRing
from ops.personal_data.retention import apply_retention
from ops.supervision.escalation import escalate_due, is_any_open
from ops.supervision.ringing import send_rings
from ops.supervision.stage_timer import SLACK_S, StageTimer
from tests.people import People, Person, in_database
from tests.processes import pause_processes
from tests.sinks import Hook, Mailbox

DESK_URL = "http://127.0.0.1:8000/ops/people/"


@pytest.fixture(autouse=True)
def alone(database: Any) -> Iterator[None]:
    """Without the web processes of other tests, which escalate as well."""
    with pause_processes(lambda: True):
        in_database(lambda: Flag.objects.filter(state="open").update(next_stage_at=None))
        in_database(lambda: FlagRing.objects.filter(done_at=None).delete())
        yield


def add_flag(person: Person, *, age_s: int, tier: str = "red", about_staff: bool = False) -> Flag:
    """A flag as it is stored so many seconds after it was raised."""

    def create() -> Flag:
        site = Site.objects.get(pk=person.row.site_id)
        opened_at = timezone.now() - timedelta(seconds=age_s)
        wait_s = 0 if about_staff else site.first_ring_s
        return Flag.objects.create(
            tier=tier,
            kind="self_harm",
            source="message",
            about_staff=about_staff,
            conversation=person.conversation,
            participant=person.row.pk,
            site=site,
            opened_at=opened_at,
            next_stage_at=opened_at + timedelta(seconds=wait_s),
        )

    return in_database(create)


def give_address(user: User, address: str) -> None:
    in_database(lambda: User.objects.filter(pk=user.pk).update(email=address))


def age(flag: Flag, seconds: int) -> None:
    """So many seconds pass for a flag."""

    def move() -> None:
        row = Flag.objects.get(pk=flag.pk)
        back = timedelta(seconds=seconds)
        row.opened_at -= back
        row.next_stage_at = row.next_stage_at - back if row.next_stage_at else None
        row.save()

    in_database(move)


def stage(flag: Flag) -> int:
    return in_database(lambda: Flag.objects.get(pk=flag.pk).stage)


def send(on_call: list[AlertTransport]) -> int:
    return in_database(lambda: send_rings(on_call, desk_url=DESK_URL))


def test_it_rings_the_staff_of_the_site_and_then_on_call_each_once(
    people: People, letters: Mailbox, posts: Hook
) -> None:
    give_address(people.add_sam(), "sam@example.org")
    give_address(people.add_supervisor("olga", site=people.elsewhere), "olga@example.org")
    rosa = people.rosa
    flag = add_flag(rosa, age_s=30)
    on_call: list[AlertTransport] = [
        WebhookTransport(posts.url, page_url=DESK_URL),
        *EmailTransport.to_each(["call@example.org"], page_url=DESK_URL),
    ]
    assert in_database(escalate_due) == [] and send(on_call) == 0
    age(flag, 40)
    assert in_database(escalate_due) == [(flag.pk, 1)]
    assert in_database(escalate_due) == []
    assert (send(on_call), send(on_call)) == (1, 0)
    assert letters.recipients == ["sam@example.org"] and posts.posts == []
    age(flag, 120)
    assert in_database(escalate_due) == [(flag.pk, 2)]
    assert (send(on_call), send(on_call)) == (2, 0)
    assert letters.recipients == ["sam@example.org", "call@example.org"]
    [post] = posts.posts
    assert people.site.name in post["says"] and DESK_URL in post["text"]
    for text in (*letters.letters, str(post)):
        assert "Rosa" not in text and DESK_URL in text
    steps = in_database(
        lambda: list(FlagStep.objects.filter(flag=flag, what="escalated").values_list("note", flat=True))
    )
    assert steps == ["to all staff of the site", "to on-call"]


def test_a_flag_about_staff_rings_on_call_at_once(people: People) -> None:
    give_address(people.add_sam(), "sam@example.org")
    flag = add_flag(people.rosa, age_s=0, about_staff=True)
    assert in_database(escalate_due) == [(flag.pk, 2)]


def test_a_circle_without_an_address_is_passed_over(people: People) -> None:
    people.add_sam()
    flag = add_flag(people.rosa, age_s=70)
    assert in_database(escalate_due) == [(flag.pk, 2)]


def test_of_several_processes_one_escalates(people: People) -> None:
    flags = [add_flag(people.rosa, age_s=70) for _ in range(5)]
    found: list[tuple[int, int]] = []

    def escalate() -> None:
        try:
            found.extend(escalate_due())
        finally:
            connection.close()

    threads = [threading.Thread(target=escalate) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(flag.pk, 2) for flag in flags]
    assert in_database(lambda: FlagRing.objects.filter(flag__in=[flag.pk for flag in flags]).count()) == 5


def test_a_flag_accepted_meanwhile_rings_no_further_and_sends_nothing(people: People, posts: Hook) -> None:
    flag = add_flag(people.rosa, age_s=70)
    assert in_database(escalate_due) == [(flag.pk, 2)]
    accepted = {"state": FlagState.ACCEPTED.value, "owner": 1, "accepted_at": timezone.now()}
    in_database(lambda: Flag.objects.filter(pk=flag.pk).update(**accepted))
    age(flag, 10_000)
    assert in_database(escalate_due) == []
    assert send([WebhookTransport(posts.url, page_url=DESK_URL)]) == 0 and posts.posts == []
    assert stage(flag) == 2


def test_a_ring_that_fails_is_tried_again_for_the_one_who_lacks_it(
    people: People, letters: Mailbox, posts: Hook
) -> None:
    posts.status = 500
    flag = add_flag(people.rosa, age_s=70)
    on_call: list[AlertTransport] = [
        WebhookTransport(posts.url, page_url=DESK_URL),
        *EmailTransport.to_each(["call@example.org"], page_url=DESK_URL),
    ]
    in_database(escalate_due)
    assert send(on_call) == 1
    posts.status = 200
    in_database(lambda: FlagRing.objects.filter(flag=flag.pk).update(send_at=timezone.now()))
    assert send(on_call) == 1
    assert letters.recipients == ["call@example.org"] and len(posts.posts) == 2
    assert in_database(lambda: FlagRing.objects.get(flag=flag.pk).done_at) is not None


def test_on_call_is_rung_again_for_red_and_not_for_amber(people: People) -> None:
    red, amber = add_flag(people.rosa, age_s=70), add_flag(people.rosa, age_s=70, tier="amber")
    assert sorted(in_database(escalate_due)) == [(red.pk, 2), (amber.pk, 2)]
    for flag in (red, amber):
        age(flag, 16 * 60)
    assert in_database(escalate_due) == [(red.pk, 2)]


def test_a_flag_that_is_accepted_by_no_one_rings_for_days_and_never_closes(people: People) -> None:
    flag = add_flag(people.rosa, age_s=70)
    in_database(lambda: Site.objects.filter(pk=people.site.pk).update(keep_flags_days=1))
    assert in_database(escalate_due) == [(flag.pk, 2)]
    for _ in range(3):
        age(flag, 30 * 24 * 3600)
        assert in_database(escalate_due) == [(flag.pk, 2)]
        in_database(apply_retention)
    assert in_database(lambda: Flag.objects.get(pk=flag.pk)).state == FlagState.OPEN


def test_a_red_flag_on_no_screen_is_an_alert_until_one_shows_it(people: People) -> None:
    flag = add_flag(people.rosa, age_s=15)
    about = f"flag {flag.pk} at {people.site.slug}"

    def open_alerts() -> int:
        return in_database(
            lambda: Alert.objects.filter(
                kind=AlertKind.FLAG_UNSEEN, about=about, acknowledged_at=None
            ).count()
        )

    in_database(escalate_due)
    assert open_alerts() == 1
    in_database(lambda: Flag.objects.filter(pk=flag.pk).update(seen_at=timezone.now()))
    in_database(escalate_due)
    assert open_alerts() == 0


def test_an_alert_about_the_last_open_flag_is_closed_although_no_flag_is_open(people: People) -> None:
    in_database(lambda: Flag.objects.filter(state=FlagState.OPEN).delete())
    in_database(escalate_due)
    assert not in_database(is_any_open)
    flag = add_flag(people.rosa, age_s=15)
    assert in_database(is_any_open)
    in_database(escalate_due)
    in_database(flag.delete)
    assert in_database(is_any_open)
    in_database(escalate_due)
    assert not in_database(is_any_open)


def test_a_site_with_people_and_no_screen_of_its_staff_is_an_alert(people: People) -> None:
    rosa = people.rosa
    in_database(
        lambda: Visit.objects.create(
            participant=rosa.row,
            opened_at=timezone.now() - timedelta(minutes=5),
            expires_at=timezone.now() + timedelta(hours=1),
        )
    )
    [condition] = [one for one in CONDITION_QUERIES if one.kind is AlertKind.SITE_UNWATCHED]
    process = in_database(
        lambda: Process.objects.create(
            id="00000000-0000-4000-8000-000000000001", host="test", pid=1, pages=[rosa.conversation.pk]
        )
    )

    def look() -> int:
        with connection.cursor() as cursor:
            cursor.execute(condition.statement, condition.params)
        return Alert.objects.filter(
            kind=AlertKind.SITE_UNWATCHED, about=people.site.slug, acknowledged_at=None
        ).count()

    try:
        assert in_database(look) == 1
        in_database(lambda: DeskProcess.objects.create(process=process.pk, sites=[people.site.pk]))
        assert in_database(look) == 0
    finally:
        in_database(process.delete)
        in_database(lambda: DeskProcess.objects.filter(process=process.pk).delete())


def test_a_clock_that_is_set_back_by_an_hour_delays_no_stage(people: People) -> None:
    give_address(people.add_sam(), "sam@example.org")
    flag = add_flag(people.rosa, age_s=-3_600)
    clock = [0.0]
    timer = StageTimer(now=lambda: clock[0])
    first, second = flag.site.first_ring_s, flag.site.second_ring_s

    def pass_until(at_s: float) -> tuple[int, list[tuple[int, int]]]:
        clock[0] = at_s
        return in_database(timer.bring_forward), in_database(escalate_due)

    assert pass_until(0) == (0, [])
    assert pass_until(first) == (0, [])
    on_time = first + SLACK_S
    assert pass_until(on_time) == (1, [(flag.pk, 1)])
    # The next stage is counted from when this process knows of it.
    assert pass_until(on_time + 1) == (0, [])
    assert pass_until(on_time + 1 + second - first + SLACK_S) == (1, [(flag.pk, 2)])


def test_a_clock_that_is_right_is_left_to_decide(people: People) -> None:
    give_address(people.add_sam(), "sam@example.org")
    flag = add_flag(people.rosa, age_s=0)
    clock = [0.0]
    timer = StageTimer(now=lambda: clock[0])
    assert in_database(timer.bring_forward) == 0
    clock[0] = flag.site.first_ring_s + SLACK_S - 0.1
    assert (in_database(timer.bring_forward), in_database(escalate_due)) == (0, [])
    in_database(
        lambda: Flag.objects.filter(pk=flag.pk).update(
            state="accepted", owner=1, owner_name="Sam", accepted_at=timezone.now()
        )
    )
    clock[0] = 10_000.0
    assert (in_database(timer.bring_forward), in_database(escalate_due)) == (0, [])


@pytest.mark.parametrize("night", ["2025-03-30T00:59:30+00:00", "2025-10-26T00:59:30+00:00"])
def test_times_count_seconds_over_a_change_to_and_from_summer_time(people: People, night: str) -> None:
    give_address(people.add_sam(), "sam@example.org")
    flag = add_flag(people.rosa, age_s=0)
    opened_at = datetime.fromisoformat(night)

    def escalate() -> Flag:
        Flag.objects.filter(pk=flag.pk).update(opened_at=opened_at, next_stage_at=opened_at)
        with connection.cursor() as cursor:
            cursor.execute("SET TIME ZONE 'Europe/London'")
            try:
                escalate_due()
            finally:
                cursor.execute("SET TIME ZONE 'UTC'")
        return Flag.objects.get(pk=flag.pk)

    escalated = in_database(escalate)
    assert escalated.stage == 1
    assert escalated.next_stage_at == opened_at + timedelta(seconds=flag.site.second_ring_s)
