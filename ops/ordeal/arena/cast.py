"""The site, the people and the staff of a run, as rows; and changes to them while it runs. Uses Django's connection."""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeVar

from django.contrib.auth.models import User
from django.db import connection, transaction

from companion.models import Ceiling, Conversation, Site
from companion.participants import add_participant
from ops import audit
from ops.models import Supervision
from ops.ordeal.arena.programs import in_thread
from ops.ordeal.plan.steps import OrdealPlan
from ops.people.cards import ParticipantQuery, renew_card
from ops.people.staff import add_supervision, remove_supervision
from ops.selections.selector import SelectionRequest, Selector
from routing import lanes
from routing.lanes import NORMAL

Result = TypeVar("Result")

BY = "the ordeal"
REASON = "Rehearsed."
PIN_LASTS = timedelta(minutes=30)
QUIET_S = 6
"""After a red message the companion of this site speaks again by itself."""
HELPLINE = {
    "helpline_voice": "0808 157 0123",
    "helpline_text": "07700 900123",
    "helpline_owner": "Ines",
    "helpline_review_by": date(2099, 12, 31),
}

# Django refuses its connection on an event loop, and keeps one for each thread.
_thread = ThreadPoolExecutor(1, thread_name_prefix="cast")


@dataclass(frozen=True, kw_only=True)
class CastPerson:
    """A participant of the run."""

    name: str
    code: str
    participant: int
    conversation: int


@dataclass(frozen=True, kw_only=True)
class CastMember:
    """A member of staff of the run."""

    username: str
    password: str
    user: int


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Everyone in a run, in the order of the plan."""

    site: int
    slug: str
    people: tuple[CastPerson, ...]
    staff: tuple[CastMember, ...]


async def in_database(call: Callable[[], Result]) -> Result:
    """Run a call that uses Django's connection. Raises django.db.Error while the database is away."""
    return await in_thread(_thread.submit(_call_and_release, call).result)


def _call_and_release(call: Callable[[], Result]) -> Result:
    # Faults end connections: none is kept, and a pool would come back late.
    connection.settings_dict["OPTIONS"].pop("pool", None)
    try:
        return call()
    finally:
        connection.close()


def make_cast(plan: OrdealPlan) -> Cast:
    """Add everyone of a plan at a site of their own."""
    with transaction.atomic():
        slug = f"ordeal-{secrets.token_hex(4)}"
        site = Site.objects.create(slug=slug, name="Ordeal", quiet_s=QUIET_S, **HELPLINE)
        people = []
        for script in plan.people:
            person = add_participant(script.name, site=site)
            conversation = Conversation.objects.get(participant=person)
            people.append(
                CastPerson(
                    name=script.name,
                    code=script.code,
                    participant=person.pk,
                    conversation=conversation.pk,
                )
            )
        staff = tuple(_add_member(script.name, site) for script in plan.staff)
    return Cast(site=site.pk, slug=slug, people=tuple(people), staff=staff)


def _add_member(name: str, site: Site) -> CastMember:
    password = secrets.token_urlsafe(12)
    user = User.objects.create_user(name, password=password, is_staff=True)
    Supervision.objects.create(user=user, site=site)
    return CastMember(username=name, password=password, user=user.pk)


def change_card(person: CastPerson, *, slug: str) -> None:
    """Give a person a new card: their visits end, and the next sign-in needs the new code."""
    renew_card(ParticipantQuery(name=person.name, site=slug), by=BY)


def change_right(member: CastMember, *, slug: str, has: bool) -> None:
    """Let a member of staff supervise the site, or no longer."""
    change = add_supervision if has else remove_supervision
    change(member.username, slug, by=BY)


@transaction.atomic
def change_ceiling(value: int | None) -> None:
    """Set the operators' ceiling; None: back to the setting. As `manage.py ceiling` does."""
    Ceiling.objects.create(value=value, by=BY, reason=REASON)
    audit.record(audit.SET_CEILING, who=BY, note=audit.format_command_note(f"ceiling {value or 'default'}"))


def change_preset(routing: lanes.Routing, preset: str) -> None:
    """Select a preset, or go back to normal."""
    selector = Selector(routing, concerns_about=lambda name: (), copy_version=lambda: 0)
    if preset == NORMAL:
        selector.revert(by=BY, reason=REASON, is_typed=True)
    else:
        selector.select(
            SelectionRequest(
                preset=preset, by=BY, reason=REASON, lasts=PIN_LASTS, is_confirmed=True, is_typed=True
            )
        )
