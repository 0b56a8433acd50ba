"""Stores the people of an import plan in a few statements, and each of them on record."""

from collections.abc import Mapping, Sequence

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User

from companion.models import Conversation, Participant
from companion.participants import draw_handles
from ops import audit
from ops.access import OPERATORS
from ops.models import AuditEntry, GroupSupervision, Supervision
from ops.people.people_file import OPERATOR, SUPERVISOR
from ops.people.people_plan import ImportPlan, NewStaff
from ops.people.staff import SUPERVISORS, format_given

ROWS_AT_ONCE = 1_000
GROUPS = {SUPERVISOR: SUPERVISORS, OPERATOR: OPERATORS}


def store_plan(plan: ImportPlan, *, by: str, hashes: Mapping[str, str]) -> None:
    """Add everyone of the plan. Staff without a hash get no usable password. Raises IntegrityError."""
    for person, handle in zip(plan.participants, draw_handles(len(plan.participants)), strict=True):
        person.card_handle = handle
    people = Participant.objects.bulk_create(plan.participants, batch_size=ROWS_AT_ONCE)
    Conversation.objects.bulk_create(
        [Conversation(participant=person) for person in people], batch_size=ROWS_AT_ONCE
    )
    for one in plan.staff:
        one.user.password = hashes.get(one.user.username) or make_password(None)
    User.objects.bulk_create([one.user for one in plan.staff], batch_size=ROWS_AT_ONCE)
    groups = {role: Group.objects.get_or_create(name=name)[0] for role, name in GROUPS.items()}
    User.groups.through.objects.bulk_create(
        [User.groups.through(user=one.user, group=groups[one.role]) for one in plan.staff],
        batch_size=ROWS_AT_ONCE,
    )
    Supervision.objects.bulk_create(
        [Supervision(user=one.user, site=site) for one in plan.staff for site in one.sites],
        batch_size=ROWS_AT_ONCE,
    )
    GroupSupervision.objects.bulk_create(
        [GroupSupervision(user=one.user, group=group) for one in plan.staff for group in one.groups],
        batch_size=ROWS_AT_ONCE,
    )
    _record(by, people, plan.staff)


def _record(by: str, people: Sequence[Participant], staff: Sequence[NewStaff]) -> None:
    entries = [
        AuditEntry(
            who=by,
            what=audit.ADDED_PERSON,
            about=person.pk,
            note=_format_note(f"site {person.site_id}, from a file"),
        )
        for person in people
    ]
    for one in staff:
        given = format_given(one.sites, one.groups) or one.role
        note = _format_note(f"staff {one.user.pk}", given, "from a file")
        entries.append(AuditEntry(who=by, what=audit.ADDED_STAFF, note=note))
    AuditEntry.objects.bulk_create(entries, batch_size=ROWS_AT_ONCE)
    counts = f"participants {len(people)}, staff {len(staff)}"
    audit.record(audit.IMPORTED_PEOPLE, who=by, note=_format_note(counts))


def _format_note(*parts: str) -> str:
    return audit.format_command_note(*parts)[:200]
