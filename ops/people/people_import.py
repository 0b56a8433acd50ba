"""Adds the people of a CSV file: all of them in one transaction, or none. Nothing that exists is changed by a file.

A line is answered with what it did, or why it stops the import. A dry run does everything and takes it back.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Collate

from companion import cards
from companion.models import Conversation, Participant, Site
from ops import audit, names
from ops.access import OPERATORS, STAFF_NAME
from ops.changes import ChangeRefused
from ops.models import AuditEntry, GroupSupervision, SiteGroup, Supervision
from ops.people.people_file import OPERATOR, PARTICIPANT, ROLES, PersonLine
from ops.people.staff import SUPERVISORS, format_given, generate_password
from ops.text import escape_controls

ROWS_AT_ONCE = 1_000

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
class ImportReport:
    """The answer to a file."""

    lines: Sequence[LineReport]
    is_stored: bool

    def count(self, outcome: LineOutcome) -> int:
        """How many lines ended so."""
        return sum(line.outcome is outcome for line in self.lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Role:
    """What a new member of staff is given."""

    name: str
    sites: Sequence[Site]
    groups: Sequence[SiteGroup]


class _Refused(Exception):
    """This line cannot be imported; the text says why."""


def import_people(
    people: Sequence[PersonLine],
    *,
    by: str,
    is_dry_run: bool = False,
    keep_passwords: Callable[[Mapping[str, str]], None] | None = None,
) -> ImportReport:
    """Add those of these people who are not there. Stores nothing if one line is refused, or in a dry run.

    `keep_passwords` takes those of new staff, by username, before they are stored; if it raises, nothing is. Without
    it new staff have none: they come by the identity provider, or are given one later.
    Raises ChangeRefused where another command adds the same people at this moment.
    """
    passwords: dict[str, str] = {}
    hashes: dict[str, str] = {}
    if keep_passwords is not None:
        # Hashed outside the transaction: each takes half a second, and the transaction locks sites.
        report, users = _import(people, by=by, is_dry_run=True)
        if report.count(LineOutcome.REFUSED):
            return report
        passwords = {user.username: generate_password() for user in users}
        hashes = _hash(passwords)
    try:
        with transaction.atomic():
            report, users = _import(people, by=by, is_dry_run=is_dry_run, hashes=hashes)
            if keep_passwords is not None and report.is_stored:
                keep_passwords({user.username: passwords[user.username] for user in users})
    except (IntegrityError, KeyError):
        raise ChangeRefused(
            "Another command changes some of these people at this moment. Try again."
        ) from None
    return report


@transaction.atomic
def _import(
    people: Sequence[PersonLine], *, by: str, is_dry_run: bool, hashes: Mapping[str, str] | None = None
) -> tuple[ImportReport, Sequence[User]]:
    """The answer to a file, and the accounts that are new."""
    plan = _Plan(people)
    lines = list(plan.check())
    is_sound = all(line.outcome is not LineOutcome.REFUSED for line in lines)
    if is_sound:
        plan.store(by=by, hashes=hashes or {})
    if is_dry_run or not is_sound:
        transaction.set_rollback(True)
    return ImportReport(lines=lines, is_stored=is_sound and not is_dry_run), plan.users


def _hash(passwords: Mapping[str, str]) -> dict[str, str]:
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(passwords, threads.map(make_password, passwords.values()), strict=True))


class _Plan:
    """What the lines of one file come to, against the rows as they are while their sites are locked."""

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
        self._there = self._find_participants()
        self._staff = self._find_staff()
        self._seen: dict[tuple[str, ...], int] = {}
        self._participants: list[Participant] = []
        self.users: list[User] = []
        self._roles: list[_Role] = []

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
        with connection.cursor() as cursor:
            cursor.execute(
                FIND_PARTICIPANTS, {"lines": list(lines), "sites": list(sites), "names": list(own)}
            )
            return dict(cursor.fetchall())

    def _find_staff(self) -> dict[str, tuple[str, str, bool, bool, list[str], list[str]]]:
        usernames = [person.cells["username"].lower() for person in self._people if person.cells["username"]]
        with connection.cursor() as cursor:
            cursor.execute(FIND_STAFF, {"usernames": usernames, "operators": OPERATORS})
            return {row[0]: row[1:] for row in cursor.fetchall()}

    def check(self) -> Iterator[LineReport]:
        """The answer to each line; those to be added are kept for `store`."""
        for person in self._people:
            try:
                sentence, is_new = self._check_line(person)
            except (_Refused, ChangeRefused) as refusal:
                yield LineReport(line=person.line, outcome=LineOutcome.REFUSED, sentence=str(refusal))
            else:
                outcome = LineOutcome.ADDED if is_new else LineOutcome.SAME
                yield LineReport(line=person.line, outcome=outcome, sentence=sentence)

    def _check_line(self, person: PersonLine) -> tuple[str, bool]:
        role = person.cells["role"]
        if person.fault:
            raise _Refused(f"The line cannot be read: {person.fault}.")
        if role not in ROLES:
            raise _Refused(f"The role {role!a} is none of {', '.join(ROLES)}.")
        own = names.clean_name(person.cells["name"])
        if unknown := [slug for slug in person.sites if slug not in self._sites]:
            raise _Refused(f"There is no site {unknown[0]!a}. manage.py site list names them.")
        if unknown := [slug for slug in person.groups if slug not in self._groups]:
            raise _Refused(f"There is no group {unknown[0]!a}. manage.py site group list names them.")
        if role == PARTICIPANT:
            return self._check_participant(person, own)
        return self._check_staff(person, own)

    def _check_participant(self, person: PersonLine, own: str) -> tuple[str, bool]:
        if len(person.sites) != 1:
            raise _Refused("A participant belongs to one site.")
        if person.groups:
            raise _Refused("A participant belongs to a site, and to no group.")
        if person.cells["username"] or person.cells["email"]:
            raise _Refused("A participant has no username and no e-mail address here.")
        site = self._sites[person.sites[0]]
        self._refuse_doubled(person.line, site.slug, own.casefold())
        sentence = f"{escape_controls(own)} at {escape_controls(site.name)}"
        is_active = self._there.get(person.line)
        if is_active is not None:
            if not is_active:
                raise _Refused(f"{sentence} was here before. manage.py card --restore gives them a new card.")
            return sentence, False
        self._participants.append(Participant(name=own, site=site, card_handle=cards.make_handle()))
        return sentence, True

    def _check_staff(self, person: PersonLine, own: str) -> tuple[str, bool]:
        login, is_operator = names.clean_username(person.cells["username"]), person.cells["role"] == OPERATOR
        if is_operator == bool(person.sites or person.groups):
            raise _Refused(
                "A supervisor has sites or groups, and an operator none: an operator sees every site."
            )
        _check_email(person.cells["email"])
        self._refuse_doubled(person.line, login)
        sentence = f"{login}, {person.cells['role']}"
        if there := self._staff.get(login):
            username, name, is_active, was_operator, slugs, groups = there
            if not is_active or username != login:
                raise _Refused(f"Another account signs in as {login}, or it was withdrawn.")
            stored = (name, was_operator, sorted(slugs), sorted(groups))
            if stored != (own, is_operator, person.sites, person.groups):
                raise _Refused(
                    f"{login} is there with another name, role, sites or groups. "
                    "A file changes none: manage.py staff does."
                )
            return sentence, False
        self.users.append(User(username=login, first_name=own, email=person.cells["email"], is_staff=True))
        self._roles.append(
            _Role(
                name=person.cells["role"],
                sites=[self._sites[slug] for slug in person.sites],
                groups=[self._groups[slug] for slug in person.groups],
            )
        )
        return sentence, True

    def _refuse_doubled(self, line: int, *who: str) -> None:
        if (first := self._seen.setdefault(who, line)) != line:
            raise _Refused(f"The person of line {first} again. Two people need two names.")

    def store(self, *, by: str, hashes: Mapping[str, str]) -> None:
        """Add everyone whom `check` found to be new, and record each. Raises IntegrityError."""
        people = Participant.objects.bulk_create(self._participants, batch_size=ROWS_AT_ONCE)
        Conversation.objects.bulk_create(
            [Conversation(participant=person) for person in people], batch_size=ROWS_AT_ONCE
        )
        for user in self.users:
            user.password = hashes.get(user.username) or make_password(None)
        users = User.objects.bulk_create(self.users, batch_size=ROWS_AT_ONCE)
        roles = list(zip(users, self._roles, strict=True))
        groups = {role: Group.objects.get_or_create(name=name)[0] for role, name in _GROUPS.items()}
        User.groups.through.objects.bulk_create(
            [User.groups.through(user=user, group=groups[role.name]) for user, role in roles],
            batch_size=ROWS_AT_ONCE,
        )
        Supervision.objects.bulk_create(
            [Supervision(user=user, site=site) for user, role in roles for site in role.sites],
            batch_size=ROWS_AT_ONCE,
        )
        GroupSupervision.objects.bulk_create(
            [GroupSupervision(user=user, group=group) for user, role in roles for group in role.groups],
            batch_size=ROWS_AT_ONCE,
        )
        self._record(by, people, roles)

    def _record(
        self, by: str, people: Collection[Participant], roles: Collection[tuple[User, _Role]]
    ) -> None:
        entries = [
            AuditEntry(
                who=by,
                what=audit.ADDED_PERSON,
                about=person.pk,
                note=_note(f"site {person.site_id}, from a file"),
            )
            for person in people
        ]
        for user, role in roles:
            where = format_given(role.sites, role.groups) or role.name
            entries.append(
                AuditEntry(
                    who=by, what=audit.ADDED_STAFF, note=_note(f"staff {user.pk}", where, "from a file")
                )
            )
        AuditEntry.objects.bulk_create(entries, batch_size=ROWS_AT_ONCE)
        counts = f"participants {len(people)}, staff {len(roles)}"
        audit.record(audit.IMPORTED_PEOPLE, who=by, note=_note(counts))


_GROUPS = {"supervisor": SUPERVISORS, OPERATOR: OPERATORS}


def _normalize(name: str) -> str:
    """The name as it would be stored; as it is, if it would be refused."""
    try:
        return names.clean_name(name)
    except ChangeRefused:
        return ""


def _check_email(address: str) -> None:
    if address:
        try:
            validate_email(address)
        except ValidationError:
            raise _Refused("The e-mail address cannot be one.") from None


def _note(*parts: str) -> str:
    return audit.format_command_note(*parts)[:200]
