"""A red message: turn, line and flag are one transaction. *Told* is said only if a screen shows the flag (S1, S2)."""

import asyncio
import uuid
from dataclasses import replace

import psycopg
import pytest

from companion.models import Control, Flag, FlagStep, TranscriptEntry, Turn, Visit
from companion.supervision.lease_follower import LeaseFollower
from companion.supervision.noticing import Notice
from companion.supervision.safety_turns import SafetyStored, SafetyTurns
from companion.supervision.states import FlagTier
from companion.turn_open import OpenedTurn, OpenRefusal, SayRequest
from ops.stack.postgres import EmbeddedPostgres
from tests.ledgers import LedgerProcess, StartLedger
from tests.people import People, Person, in_database
from tests.supervised import Supervisor

RED = Notice(tier=FlagTier.RED, kind="self_harm", rule="red-1", rules_version="v1")
AMBER = replace(RED, tier=FlagTier.AMBER, kind="low_mood", rule="amber-1")


def say(person: Person, *, key: uuid.UUID | None = None, notice: Notice | None = None) -> SayRequest:
    visit = in_database(lambda: Visit.objects.create(participant=person.row, expires_at="2099-01-01T00:00Z"))
    return SayRequest(visit=visit.pk, key=key or uuid.uuid4(), question="Goodbye.", notice=notice)


@pytest.fixture
def desk(start_ledger: StartLedger) -> LedgerProcess:
    return start_ledger(10)


@pytest.fixture
def safety(desk: LedgerProcess) -> SafetyTurns:
    return SafetyTurns(
        desk.pool,
        desk.policy,
        process=desk.id,
        on_change=lambda *_: None,
    )


async def store(safety: SafetyTurns, request: SayRequest) -> SafetyStored:
    stored = await safety.store_red(request, RED)
    assert isinstance(stored, SafetyStored)
    return stored


def read_turn(turn: int) -> Turn:
    return in_database(lambda: Turn.objects.get(pk=turn))


def mark_seen(flag: int) -> None:
    from django.utils import timezone

    in_database(lambda: Flag.objects.filter(pk=flag).update(seen_at=timezone.now(), shown_count=1))


async def test_turn_line_flag_and_quiet_are_stored_together(
    safety: SafetyTurns, desk: LedgerProcess, people: People
) -> None:
    rosa = people.rosa
    await desk.write_heartbeat()
    live = await desk.ask(rosa)
    stored = await store(safety, say(rosa))
    turn = read_turn(stored.opened.turn)
    assert (turn.state, turn.reason, turn.lane) == ("safety", "red", "")
    assert "0808 157 0123" in turn.line and "have been told" not in turn.line
    assert (read_turn(live.turn).state, read_turn(live.turn).reason) == ("handed_over", "red")
    flag = in_database(lambda: Flag.objects.get(turn=turn.pk))
    assert (flag.tier, flag.kind, flag.rule, flag.site_id, flag.state) == (
        "red",
        "self_harm",
        "red-1",
        rosa.row.site_id,
        "open",
    )
    steps = in_database(lambda: [step.what for step in FlagStep.objects.filter(flag=flag)])
    assert steps == ["opened"]
    control = in_database(lambda: Control.objects.get(pk=rosa.conversation.pk))
    assert control.quiet_since is not None and control.quiet_until is None


async def test_a_flag_that_a_screen_shows_in_time_says_that_staff_were_told(
    safety: SafetyTurns, people: People
) -> None:
    stored = await store(safety, say(people.rosa))
    assert stored.flag is not None
    deciding = asyncio.create_task(safety.decide_red(stored))
    mark_seen(stored.flag.flag)
    safety.note_flags_changed([stored.flag.flag])
    await deciding
    turn = read_turn(stored.opened.turn)
    assert "Staff here have been told" in turn.line and "0808 157 0123" in turn.line


async def test_without_a_screen_the_line_stays_true(safety: SafetyTurns, people: People) -> None:
    stored = await store(safety, say(people.rosa))
    await safety.decide_red(stored)
    assert "have been told" not in read_turn(stored.opened.turn).line
    assert stored.flag is not None
    # Too late: what was shown does not change.
    mark_seen(stored.flag.flag)
    await safety.decide_red(stored)
    assert "have been told" not in read_turn(stored.opened.turn).line


async def test_the_same_key_again_is_the_same_turn_and_one_flag(safety: SafetyTurns, people: People) -> None:
    rosa, key = people.rosa, uuid.uuid4()
    both = await asyncio.gather(*(store(safety, say(rosa, key=key)) for _ in range(2)))
    assert both[0].opened.turn == both[1].opened.turn
    assert [one.opened.is_new for one in both].count(True) == 1
    flags = in_database(lambda: list(Flag.objects.filter(conversation=rosa.conversation)))
    assert [flag.count for flag in flags] == [1]


async def test_a_red_message_that_cannot_be_stored_in_time_is_an_error_of_the_database(
    desk: LedgerProcess, people: People
) -> None:
    policy = replace(desk.policy, lease_s=0.3)
    hasty = SafetyTurns(desk.pool, policy, process=desk.id, on_change=lambda *_: None)
    rosa = people.rosa
    async with desk.pool.connection() as connection, connection.transaction():
        await connection.execute(
            "SELECT 1 FROM companion_control WHERE conversation_id = %s FOR UPDATE", [rosa.conversation.pk]
        )
        # Sockets answer it by *come back*, and the page sends the words again.
        with pytest.raises(psycopg.OperationalError):
            await hasty.store_red(say(rosa), RED)
    assert rosa.turns() == []


async def test_a_second_red_message_shows_its_line_again_and_counts_in_the_open_flag(
    safety: SafetyTurns, people: People
) -> None:
    rosa = people.rosa
    await store(safety, say(rosa))
    second = await store(safety, say(rosa))
    assert read_turn(second.opened.turn).state == "safety"
    flag = in_database(lambda: Flag.objects.get(conversation=rosa.conversation))
    assert flag.count == 2
    steps = in_database(lambda: [step.what for step in FlagStep.objects.filter(flag=flag).order_by("id")])
    assert steps == ["opened", "repeated"]


async def test_two_messages_at_once_one_of_them_red_leave_no_live_turn(
    safety: SafetyTurns, desk: LedgerProcess, people: People
) -> None:
    rosa = people.rosa
    await desk.write_heartbeat()
    for _ in range(10):
        await asyncio.gather(store(safety, say(rosa)), desk.ledger.open(say(rosa)))
        in_database(lambda: Control.objects.filter(pk=rosa.conversation.pk).update(quiet_since=None))
        states = {turn.state for turn in rosa.turns()}
        assert states <= {"safety", "handed_over"}


async def test_while_it_is_quiet_the_first_message_is_told_so_and_the_others_are_kept_in_silence(
    safety: SafetyTurns, desk: LedgerProcess, people: People
) -> None:
    rosa = people.rosa
    await store(safety, say(rosa))
    for _ in range(2):
        opened = await desk.ledger.open(say(rosa))
        assert isinstance(opened, OpenedTurn) and opened.is_ended
    _, first, second = rosa.turns()
    assert (first.state, first.reason) == (second.state, second.reason) == ("handed_over", "quiet")
    assert first.line == desk.policy.lines.held_quiet and second.line == ""


async def test_a_quiet_time_that_is_over_lets_it_speak_with_care(
    safety: SafetyTurns, desk: LedgerProcess, people: People
) -> None:
    rosa = people.rosa
    people.site.quiet_s = 1
    in_database(people.site.save)
    await store(safety, say(rosa))
    await asyncio.sleep(1.1)
    opened = await desk.ledger.open(say(rosa))
    assert isinstance(opened, OpenedTurn) and not opened.is_ended
    await LeaseFollower(desk.pool, desk.policy, process=desk.id).check()
    control = in_database(lambda: Control.objects.get(pk=rosa.conversation.pk))
    assert control.quiet_since is None and control.care_until is not None


async def test_an_amber_message_raises_its_flag_with_its_turn_and_is_answered(
    desk: LedgerProcess, people: People
) -> None:
    rosa = people.rosa
    opened = await desk.ledger.open(say(rosa, notice=AMBER))
    assert isinstance(opened, OpenedTurn) and not opened.is_ended
    flag = in_database(lambda: Flag.objects.get(conversation=rosa.conversation))
    assert (flag.tier, flag.turn, flag.rules_version) == ("amber", opened.turn, "v1")


async def test_a_red_message_to_a_person_is_read_by_them_and_rings(
    safety: SafetyTurns, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    async with Supervisor(database.url, rosa) as sam:
        await sam.take_over()
    stored = await store(safety, say(rosa))
    turn = read_turn(stored.opened.turn)
    assert (turn.state, turn.reason, turn.line) == ("handed_over", "person", "")
    assert in_database(lambda: Flag.objects.get(turn=turn.pk)).tier == "red"
    assert in_database(lambda: Control.objects.get(pk=rosa.conversation.pk)).quiet_since is None


async def test_a_flood_of_red_messages_is_bounded(safety: SafetyTurns, people: People) -> None:
    rosa = people.rosa
    request = say(rosa)
    for _ in range(60):
        await store(safety, replace(request, key=uuid.uuid4()))
    refused = await safety.store_red(replace(request, key=uuid.uuid4()), RED)
    assert refused is OpenRefusal.TOO_MANY


async def test_a_press_for_a_person_is_one_flag_and_one_line_however_often_it_comes(
    safety: SafetyTurns, people: People
) -> None:
    rosa = people.rosa
    first = await safety.store_help(rosa.conversation.pk)
    again = await safety.store_help(rosa.conversation.pk)
    assert first is not None and again is not None and again.entry == first.entry
    flag = in_database(lambda: Flag.objects.get(conversation=rosa.conversation))
    assert (flag.tier, flag.kind, flag.source, flag.count) == ("red", "help", "button", 2)
    line = (await safety.decide_help(rosa.conversation.pk, first)).line
    [entry] = in_database(lambda: list(TranscriptEntry.objects.filter(conversation=rosa.conversation)))
    assert entry.text == line and "0808 157 0123" in line


async def test_a_press_that_a_screen_shows_in_time_says_that_staff_can_see_it(
    safety: SafetyTurns, people: People
) -> None:
    rosa = people.rosa
    stored = await safety.store_help(rosa.conversation.pk)
    assert stored is not None and stored.flag is not None
    mark_seen(stored.flag.flag)
    line = (await safety.decide_help(rosa.conversation.pk, stored)).line
    assert line == "Staff here can see that you want to talk. You can keep writing here."


async def test_a_screen_that_is_gone_loses_the_take_over_and_rings(
    desk: LedgerProcess, people: People, database: EmbeddedPostgres
) -> None:
    rosa = people.rosa
    follower = LeaseFollower(desk.pool, desk.policy, process=desk.id)
    async with Supervisor(database.url, rosa) as sam:
        await sam.take_over()
        assert rosa.conversation.pk not in await follower.check()
        assert in_database(lambda: Control.objects.get(pk=rosa.conversation.pk)).person == sam.staff
        in_database(
            lambda: Control.objects.filter(pk=rosa.conversation.pk).update(person_seen_at="2020-01-01T00:00Z")
        )
        assert rosa.conversation.pk in await follower.check()
    assert in_database(lambda: Control.objects.get(pk=rosa.conversation.pk)).person is None
    entries = in_database(
        lambda: list(TranscriptEntry.objects.filter(conversation=rosa.conversation).order_by("id"))
    )
    assert [entry.kind for entry in entries] == ["joins", "lost"]
    flag = in_database(lambda: Flag.objects.get(conversation=rosa.conversation))
    assert (flag.tier, flag.kind, flag.source) == ("red", "screen_lost", "screen")
