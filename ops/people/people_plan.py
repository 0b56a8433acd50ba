"""What the lines of a people file come to, against the rows as they are: added, there before, or refused and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.contrib.auth.models import User
from django.db.models.functions import Collate

from companion.models import Participant, Site
from ops import names
from ops.access import OPERATORS, STAFF_NAME
from ops.changes import ChangeRefused
from ops.database import fetch_all
from ops.models import SiteGroup
from ops.people.people_file import OPERATOR, PARTICIPANT, ROLES, PersonLine
from ops.text import escape_controls

FIND_PARTICIPANTS = """
SELECT f.line, bool_or(p.is_active)
FROM unnest(%(lines)s::int[], %(sites)s::bigint[], %(names)s::text[]) f(line, site, name)
JOIN companion_participant p ON p.site_id = f.site AND lower(p.name) COLLATE "C" = lower(f.name) COLLATE "C"
GROUP BY f.line
"""
FIND_STAFF = f"""
SELECT lower(u.username), u.username, {STAFF_NAME}, u.is_active AND u.is_staff, u.is_superuser OR EXISTS (
    SELECT 1 FROM auth_user_groups m JOIN auth_group g ON g.id = m.group_id
    WHERE m.user_id = u.id AND g.name = %(operators)s
), ARRAY(SELECT s.slug FROM ops_supervision v JOIN companion_site s ON s.id = v.site_id WHERE v.user_id = u.id),
   ARRAY(SELECT g.slug FROM ops_groupsupervision v JOIN ops_sitegroup g ON g.id = v.group_id WHERE v.user_id = u.id)
FROM auth_user u WHERE lower(u.username) = ANY(%(usernames)s)
"""


class LineOutcome(StrEnum):
    """What became of a line, or would become of it."""

    ADDED = "added"
    SAME = "there before"
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class LineReport:
    """The answer to one line of the file."""

    line: int
    outcome: LineOutcome
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NewStaff:
    """A new member of staff, and what they are given."""

    user: User
    role: str
    sites: Sequence[Site]
    groups: Sequence[SiteGroup]


class ImportPlan:
    """What is to be stored once every line is checked: `participants`, who have no cards yet, and `staff`.

    Locks the groups and sites of the file: construct it in a transaction.
    """

    def __init__(self, people: Sequence[PersonLine]) -> None:
        self._people = people
        group_slugs = {slug for person in people for slug in person.groups}
        slugs = {slug for person in people for slug in person.sites}
        # Groups first, and each kind in the order of its short names, as `add_staff` locks them: two commands cannot
        # block each other. Python orders by code points, the database by its collation.
        by_slug = Collate("slug", "C")
        groups = (
            SiteGroup.objects.select_for_update(no_key=True).filter(slug__in=group_slugs).order_by(by_slug)
        )
        self._groups = {group.slug: group for group in groups}
        sites = Site.objects.select_for_update(no_key=True).filter(slug__in=slugs).order_by(by_slug)
        self._sites = {site.slug: site for site in sites}
        self._found_participants = self._find_participants()
        self._found_staff = self._find_staff()
        self._seen: dict[tuple[str, ...], int] = {}
        self.participants: list[Participant] = []
        self.staff: list[NewStaff] = []

    def _find_participants(self) -> dict[int, bool]:
        """For each line with a participant of this name and site who is there already: whether the card opens."""
        found = [
            (person.line, self._sites[person.sites[0]].pk, _normalize(person.cells["name"]))
            for person in self._people
            if person.cells["role"] == PARTICIPANT
            and len(person.sites) == 1
            and person.sites[0] in self._sites
        ]
        lines, sites, own = zip(*found, strict=True) if found else ((), (), ())
        facts = {"lines": list(lines), "sites": list(sites), "names": list(own)}
        return dict(fetch_all(FIND_PARTICIPANTS, facts))

    def _find_staff(self) -> dict[str, tuple[str, str, bool, bool, list[str], list[str]]]:
        usernames = [person.cells["username"].lower() for person in self._people if person.cells["username"]]
        found = fetch_all(FIND_STAFF, {"usernames": usernames, "operators": OPERATORS})
        return {row[0]: row[1:] for row in found}

    def check(self) -> Iterator[LineReport]:
        """The answer to each line; those to be added are kept."""
        for person in self._people:
            try:
                sentence, is_new = self._check_line(person)
            except ChangeRefused as refusal:
                yield LineReport(line=person.line, outcome=LineOutcome.REFUSED, sentence=str(refusal))
            else:
                outcome = LineOutcome.ADDED if is_new else LineOutcome.SAME
                yield LineReport(line=person.line, outcome=outcome, sentence=sentence)

    def _check_line(self, person: PersonLine) -> tuple[str, bool]:
        role = person.cells["role"]
        if person.fault:
            raise ChangeRefused(f"The line cannot be read: {person.fault}.")
        if role not in ROLES:
            raise ChangeRefused(f"The role {role!a} is none of {', '.join(ROLES)}.")
        own = names.clean_name(person.cells["name"])
        if unknown := [slug for slug in person.sites if slug not in self._sites]:
            raise ChangeRefused(f"There is no site {unknown[0]!a}. manage.py site list names them.")
        if unknown := [slug for slug in person.groups if slug not in self._groups]:
            raise ChangeRefused(f"There is no group {unknown[0]!a}. manage.py site group list names them.")
        if role == PARTICIPANT:
            return self._check_participant(person, own)
        return self._check_staff(person, own)

    def _check_participant(self, person: PersonLine, own: str) -> tuple[str, bool]:
        if len(person.sites) != 1:
            raise ChangeRefused("A participant belongs to one site.")
        if person.groups:
            raise ChangeRefused("A participant belongs to a site, and to no group.")
        if person.cells["username"] or person.cells["email"]:
            raise ChangeRefused("A participant has no username and no e-mail address here.")
        site = self._sites[person.sites[0]]
        self._refuse_doubled(person.line, site.slug, own.casefold())
        sentence = f"{escape_controls(own)} at {escape_controls(site.name)}"
        is_active = self._found_participants.get(person.line)
        if is_active is not None:
            if not is_active:
                raise ChangeRefused(
                    f"{sentence} was here before. manage.py card --restore gives them a new card."
                )
            return sentence, False
        self.participants.append(Participant(name=own, site=site))
        return sentence, True

    def _check_staff(self, person: PersonLine, own: str) -> tuple[str, bool]:
        login, is_operator = names.clean_username(person.cells["username"]), person.cells["role"] == OPERATOR
        if is_operator == bool(person.sites or person.groups):
            raise ChangeRefused(
                "A supervisor has sites or groups, and an operator none: an operator sees every site."
            )
        email = names.clean_email(person.cells["email"])
        self._refuse_doubled(person.line, login)
        sentence = f"{login}, {person.cells['role']}"
        if there := self._found_staff.get(login):
            username, name, is_active, was_operator, slugs, groups = there
            if not is_active or username != login:
                raise ChangeRefused(f"Another account signs in as {login}, or it was withdrawn.")
            stored = (name, was_operator, sorted(slugs), sorted(groups))
            if stored != (own, is_operator, person.sites, person.groups):
                raise ChangeRefused(
                    f"{login} is there with another name, role, sites or groups. "
                    "A file changes none: manage.py staff does."
                )
            return sentence, False
        self.staff.append(
            NewStaff(
                user=User(username=login, first_name=own, email=email, is_staff=True),
                role=person.cells["role"],
                sites=[self._sites[slug] for slug in person.sites],
                groups=[self._groups[slug] for slug in person.groups],
            )
        )
        return sentence, True

    def _refuse_doubled(self, line: int, *who: str) -> None:
        if (first := self._seen.setdefault(who, line)) != line:
            raise ChangeRefused(f"The person of line {first} again. Two people need two names.")


def _normalize(name: str) -> str:
    """The name as it would be stored; empty if it would be refused."""
    try:
        return names.clean_name(name)
    except ChangeRefused:
        return ""
