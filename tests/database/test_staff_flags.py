"""What staff do with flags: one owner however many press at once, and never closed by itself (S2)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from companion.models import Flag, FlagStep, Participant
from companion.supervision import flag_changes, flag_views
from companion.supervision.causes import FlagCause
from companion.supervision.flag_changes import FlagRefusal, FlagRefused
from companion.supervision.flag_views import FlagView
from companion.supervision.flags import raise_flag
from companion.supervision.staff import Staff
from companion.supervision.states import FlagOutcome, FlagSource, FlagTier
from tests.people import People, Person, in_database

SAM = Staff(user=1_001, name="Sam Okoro")
MIRA = Staff(user=1_002, name="Mira Lind")

Change = Callable[[psycopg.AsyncCursor[Any]], Awaitable[Any]]


@asynccontextmanager
async def transaction(pool: AsyncConnectionPool[Any]) -> AsyncIterator[psycopg.AsyncCursor[Any]]:
    async with pool.connection() as native, native.transaction(), native.cursor() as cursor:
        yield cursor


async def raise_for(pool: AsyncConnectionPool[Any], person: Person, *, kind: str = "self_harm") -> int:
    async with transaction(pool) as cursor:
        raised = await raise_flag(
            cursor,
            FlagCause(
                conversation=person.conversation.pk,
                tier=FlagTier.RED,
                kind=kind,
                source=FlagSource.MESSAGE,
            ),
        )
    assert raised is not None
    return raised.flag


async def change(pool: AsyncConnectionPool[Any], run: Change) -> Any:
    async with transaction(pool) as cursor:
        return await run(cursor)


def steps(flag: int) -> list[tuple[str, str]]:
    return in_database(
        lambda: list(FlagStep.objects.filter(flag=flag).order_by("id").values_list("what", "who"))
    )


async def test_of_many_who_accept_at_once_one_owns_the_flag_and_the_others_learn_who(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    flag = await raise_for(pool, people.rosa)
    staff = [Staff(user=2_000 + number, name=f"Colleague {number}") for number in range(8)]
    sites = {people.site.pk}

    async def accept(one: Staff) -> FlagView | FlagRefused:
        answer: FlagView | FlagRefused = await change(
            pool, lambda cursor: flag_changes.accept(cursor, flag, one, sites=sites)
        )
        return answer

    answers = await asyncio.gather(*(accept(one) for one in staff))
    owners = [answer for answer in answers if isinstance(answer, FlagView)]
    refused = [answer for answer in answers if isinstance(answer, FlagRefused)]
    assert len(owners) == 1 and len(refused) == 7
    assert {(one.why, one.owner_name) for one in refused} == {(FlagRefusal.ACCEPTED, owners[0].owner_name)}
    assert steps(flag) == [("opened", ""), ("accepted", owners[0].owner_name)]


async def test_a_flood_of_presses_is_counted_and_hides_no_step_of_staff(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    rosa = people.rosa
    flag = await raise_for(pool, rosa)
    for _ in range(5):
        await raise_for(pool, rosa)
    assert [what for what, _ in steps(flag)] == ["opened", "repeated"]
    await change(pool, lambda cursor: flag_changes.accept(cursor, flag, SAM, sites={people.site.pk}))
    in_database(
        lambda: FlagStep.objects.bulk_create(
            FlagStep(flag_id=flag, what="noted", note=str(number)) for number in range(flag_views.MAX_STEPS)
        )
    )
    other = await raise_for(pool, rosa, kind="help")
    read = await change(pool, lambda cursor: flag_views.read_steps(cursor, [flag, other]))
    assert [step.what for step in read if step.flag == other] == ["opened"]
    assert [step.note for step in read if step.flag == flag][-1] == str(flag_views.MAX_STEPS - 1)
    view = in_database(lambda: Flag.objects.get(pk=flag))
    assert (view.count, view.owner) == (6, SAM.user)


async def test_the_owner_who_accepts_again_is_not_refused_and_adds_no_step(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    flag = await raise_for(pool, people.rosa)
    for _ in range(2):
        accepted = await change(
            pool, lambda cursor: flag_changes.accept(cursor, flag, SAM, sites={people.site.pk})
        )
        assert isinstance(accepted, FlagView) and accepted.owner == SAM.user
    assert [what for what, _ in steps(flag)] == ["opened", "accepted"]


async def test_only_the_owner_closes_a_flag_with_an_outcome_and_a_note(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    flag = await raise_for(pool, people.rosa)
    sites = {people.site.pk}

    async def close(staff: Staff) -> Any:
        return await change(
            pool,
            lambda cursor: flag_changes.close(
                cursor, flag, staff, sites=sites, outcome=FlagOutcome.CONCERN, text="We spoke."
            ),
        )

    assert await close(SAM) == FlagRefused(why=FlagRefusal.NOT_ACCEPTED)
    await change(pool, lambda cursor: flag_changes.accept(cursor, flag, SAM, sites=sites))
    assert await close(MIRA) == FlagRefused(why=FlagRefusal.NOT_OWNER, owner_name=SAM.name)
    closed = await close(SAM)
    assert (closed.state, closed.outcome, closed.closed_by_name) == ("closed", "concern", SAM.name)
    assert await close(SAM) == FlagRefused(why=FlagRefusal.CLOSED, owner_name=SAM.name)
    assert in_database(lambda: FlagStep.objects.get(flag=flag, what="closed").note) == "We spoke."


async def test_a_flag_changes_hands_by_name_and_belongs_to_its_owner_until_then(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    flag = await raise_for(pool, people.rosa)
    sites = {people.site.pk}
    await change(pool, lambda cursor: flag_changes.accept(cursor, flag, SAM, sites=sites))

    async def take_on(staff: Staff, from_owner: int | None = None) -> Any:
        return await change(
            pool,
            lambda cursor: flag_changes.take_on(cursor, flag, staff, sites=sites, from_owner=from_owner),
        )

    assert await take_on(MIRA) == FlagRefused(why=FlagRefusal.NOT_HANDED, owner_name=SAM.name)
    handed = await change(pool, lambda cursor: flag_changes.hand(cursor, flag, SAM, sites=sites, to=MIRA))
    assert (handed.owner, handed.handed_to) == (SAM.user, MIRA.user)
    taken = await take_on(MIRA)
    assert (taken.owner, taken.owner_name, taken.handed_to) == (MIRA.user, MIRA.name, None)
    # Whose shift ended without handing over can be named, and only while they are the owner.
    assert (await take_on(SAM, from_owner=9_999)).why == FlagRefusal.NOT_HANDED
    assert (await take_on(SAM, from_owner=MIRA.user)).owner == SAM.user
    assert [what for what, _ in steps(flag)] == ["opened", "accepted", "handed", "taken_on", "taken_on"]


async def test_a_flag_of_another_site_is_answered_like_one_that_does_not_exist(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    flag = await raise_for(pool, people.otto)
    sites = {people.site.pk}
    for number in (flag, 2**62):
        for refused in (
            await change(pool, partial(flag_changes.accept, flag=number, staff=SAM, sites=sites)),
            await change(pool, partial(flag_changes.note, flag=number, staff=SAM, sites=sites, text="?")),
        ):
            assert refused == FlagRefused(why=FlagRefusal.NOT_THERE)
    assert not await change(pool, lambda cursor: flag_changes.mark_seen(cursor, flag, SAM, sites=sites))


async def test_a_flag_of_a_person_erased_meanwhile_is_accepted_and_closed(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    rosa, sites = people.rosa, {people.site.pk}
    flag = await raise_for(pool, rosa)
    in_database(lambda: Participant.objects.filter(pk=rosa.row.pk).delete())
    accepted = await change(pool, lambda cursor: flag_changes.accept(cursor, flag, SAM, sites=sites))
    assert (accepted.conversation, accepted.participant_name, accepted.owner) == (None, "", SAM.user)
    closed = await change(
        pool,
        lambda cursor: flag_changes.close(
            cursor, flag, SAM, sites=sites, outcome=FlagOutcome.UNSURE, text="Erased."
        ),
    )
    assert closed.state == "closed"


async def test_seen_is_the_first_screen_alone(pool: AsyncConnectionPool[Any], people: People) -> None:
    flag = await raise_for(pool, people.rosa)
    sites = {people.site.pk}
    first = await change(pool, lambda cursor: flag_changes.mark_seen(cursor, flag, SAM, sites=sites))
    second = await change(pool, lambda cursor: flag_changes.mark_seen(cursor, flag, MIRA, sites=sites))
    assert (first, second) == (True, False)
    assert steps(flag) == [("opened", ""), ("seen", SAM.name)]


async def test_the_list_holds_flags_that_are_not_closed_of_the_named_sites(
    pool: AsyncConnectionPool[Any], people: People
) -> None:
    hers, his = await raise_for(pool, people.rosa), await raise_for(pool, people.otto)
    closed = await raise_for(pool, people.rosa, kind="help")
    sites = {people.site.pk}
    await change(pool, lambda cursor: flag_changes.accept(cursor, closed, SAM, sites=sites))
    await change(
        pool,
        lambda cursor: flag_changes.close(
            cursor, closed, SAM, sites=sites, outcome=FlagOutcome.NO_CONCERN, text="Fine."
        ),
    )
    listed = await change(pool, lambda cursor: flag_views.list_open(cursor, sites))
    assert [view.id for view in listed] == [hers]
    assert his not in {view.id for view in listed}


@pytest.mark.parametrize("column", ["owner", "accepted_at"])
async def test_the_database_refuses_an_accepted_flag_without_an_owner(
    pool: AsyncConnectionPool[Any], people: People, column: str
) -> None:
    flag = await raise_for(pool, people.rosa)
    await change(pool, lambda cursor: flag_changes.accept(cursor, flag, SAM, sites={people.site.pk}))
    with pytest.raises(Exception, match="flag_owned_once_accepted"):
        in_database(lambda: Flag.objects.filter(pk=flag).update(**{column: None}))
