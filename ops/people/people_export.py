"""Everyone in a CSV file: staff, then the participants whose cards open, as `people_import` takes them in."""

from collections.abc import Iterator, Sequence
from typing import IO

from django.contrib.auth.models import User
from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.expressions import RawSQL

from companion.models import Participant, Site
from ops import audit
from ops.access import OPERATORS
from ops.models import SiteGroup
from ops.people.people_file import OPERATOR, PARTICIPANT, SUPERVISOR, write_people

ROWS_AT_ONCE = 1_000

SUPERVISE_SITE = """
SELECT v.user_id FROM ops_supervised v JOIN companion_site s ON s.id = v.site_id WHERE s.slug = %s
"""


@transaction.atomic
def export_people(file: IO[str], *, site: str | None, by: str) -> tuple[int, int]:
    """Write everyone, or the people of one site. Returns how many staff and how many participants. On record."""
    counts = [0, 0]

    def count(number: int, rows: Iterator[Sequence[str]]) -> Iterator[Sequence[str]]:
        for row in rows:
            counts[number] += 1
            yield row

    def everyone() -> Iterator[Sequence[str]]:
        yield from count(0, _list_staff(site))
        yield from count(1, _list_participants(site))

    write_people(file, everyone())
    audit.record(
        audit.EXPORTED_PEOPLE,
        who=by,
        note=audit.format_command_note(f"staff {counts[0]}, participants {counts[1]}"),
    )
    return counts[0], counts[1]


def _list_staff(site: str | None) -> Iterator[Sequence[str]]:
    own_groups = User.groups.through.objects.filter(user=OuterRef("pk"), group__name=OPERATORS)
    staff = (
        User.objects.filter(is_staff=True, is_active=True)
        .annotate(operates=Q(is_superuser=True) | Exists(own_groups))
        .annotate(slugs=_list_slugs(Site), group_slugs=_list_slugs(SiteGroup))
        .order_by("username")
    )
    if site is not None:
        staff = staff.filter(pk__in=RawSQL(SUPERVISE_SITE, [site]))
    for user in staff.iterator(ROWS_AT_ONCE):
        role = OPERATOR if user.operates else SUPERVISOR
        # An operator sees every site, so the file names none: it is read back as it was written.
        slugs, groups = ([], []) if user.operates else (sorted(user.slugs), sorted(user.group_slugs))
        name = user.get_full_name().strip() or user.username
        yield role, name, " ".join(slugs), user.username, user.email, " ".join(groups)


def _list_slugs(kind: type[Site] | type[SiteGroup]) -> ArraySubquery:
    """What of this kind the user of the query was given, by short names."""
    return ArraySubquery(kind.objects.filter(supervisions__user=OuterRef("pk")).values("slug"))


def _list_participants(site: str | None) -> Iterator[Sequence[str]]:
    people = Participant.objects.filter(is_active=True).select_related("site").order_by("site_id", "id")
    if site is not None:
        people = people.filter(site__slug=site)
    for person in people.iterator(ROWS_AT_ONCE):
        yield PARTICIPANT, person.name, person.site.slug, "", "", ""
