"""`manage.py demo_site`: a site, its staff and three participants, to look round with. Made once.

It never makes again who was removed or withdrawn since: these accounts and cards give access.
"""

import json
from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import localdate

from companion.models import Site
from companion.participants import add_participant, find_active_participant, get_card
from ops import audit
from ops.models import Supervision
from ops.people.card_sheets import build_link
from ops.people.cards import get_public_url
from ops.people.staff import generate_password
from ops.stack.state import write_private

SITE = ("willow-house", "Willow House")
# Numbers that no telephone has: they are kept free for films.
HELPLINE = {
    "helpline_voice": "0808 157 0123",
    "helpline_text": "07700 900123",
    "helpline_owner": "Ines, of the demonstration",
}
HELPLINE_REVIEW_DAYS = 365
PARTICIPANTS = ("Rosa", "Tomas", "Ada")
STAFF = {"sam": ("Sam", "supervisor"), "tess": ("Tess", "supervisor"), "ines": ("Ines", "operator")}


class Command(BaseCommand):
    help = (
        "Makes the demo site with its staff and participants where there is no such site, and prints how those "
        "who are there sign in. It never makes again who was removed."
    )
    # The demo people must be there while the persona file is invalid.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--migrate", action="store_true", help="bring the database into step first")
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
        made = parser.add_mutually_exclusive_group()
        made.add_argument(
            "--if-new",
            action="store_true",
            help="make it only in a database that has no site and no staff at all",
        )
        made.add_argument("--show", action="store_true", help="make nothing, only print")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["migrate"]:
            call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        makes = not options["show"] and (not options["if_new"] or _is_new())
        facts = demo(settings.COMPANION_STATE_DIR / "staff.json", makes=makes)
        if options["json"]:
            self.stdout.write(json.dumps(facts))
            return
        if not facts["site"]:
            self.stdout.write("There is no demo site here.")
        for member in facts["staff"]:
            self.stdout.write(
                f"{member['name']} ({member['role']}): {member['username']} / {member['password']}"
            )
        if facts["machine"]:
            self.stdout.write(f"A shared machine: {facts['machine']}; staff enter its code at Machines.")
        for person in facts["participants"]:
            pictures = ", then ".join(person["pictures"])
            self.stdout.write(
                f"{person['name']}: {person['card']} ({pictures}; or the code {person['code']})"
            )


def _is_new() -> bool:
    return not Site.objects.exists() and not User.objects.exists()


@transaction.atomic
def demo(passwords: Path, *, makes: bool = True) -> dict[str, Any]:
    """The demo site's people who are there, and how they sign in. With `makes`, all are made if it is not there.

    Generated passwords are kept in the file `passwords`.
    """
    site = Site.objects.filter(slug=SITE[0]).first()
    if site is None and makes:
        site = _make(passwords)
    named = [find_active_participant(name, site=SITE[0]) for name in PARTICIPANTS] if site else []
    people = [person for person in named if person is not None]
    for person in people:
        note = audit.format_command_note(f"issue {person.card_issue}, demo_site")
        audit.record(audit.PRINTED_CARD, who=audit.get_account(), about=person.pk, note=note)
    return {
        "site": site.name if site else "",
        "is_empty": not Site.objects.exists(),
        "sign_in": f"{get_public_url()}{settings.LOGIN_URL}",
        "machine": f"{get_public_url()}{reverse('machine')}" if site else "",
        "staff": _staff(passwords) if site else [],
        "participants": [
            {"name": person.name, "card": build_link(card), "pictures": card.pictures, "code": card.code}
            for person, card in ((person, get_card(person)) for person in people)
        ],
    }


def _make(passwords: Path) -> Site:
    review_by = localdate() + timedelta(days=HELPLINE_REVIEW_DAYS)
    site = Site.objects.create(slug=SITE[0], name=SITE[1], **HELPLINE, helpline_review_by=review_by)
    for name in PARTICIPANTS:
        add_participant(name, site=site)
    kept = _kept(passwords)
    for username, (name, role) in STAFF.items():
        if User.objects.filter(username=username).exists():
            # A real person may have this username: the demo gives them no rights.
            continue
        password = generate_password()
        user = User.objects.create_user(
            username, password=password, first_name=name, is_staff=True, is_superuser=role == "operator"
        )
        # Groups are named after all their members: supervisors, operators.
        user.groups.add(Group.objects.get_or_create(name=f"{role}s")[0])
        if role == "supervisor":
            Supervision.objects.create(user=user, site=site)
        kept[username] = {"password": password, "stored": user.password}
    write_private(passwords, json.dumps(kept, indent=1))
    return site


def _staff(passwords: Path) -> list[dict[str, str]]:
    kept, members = _kept(passwords), []
    for username, (name, role) in STAFF.items():
        user = User.objects.filter(
            username=username, is_active=True, is_staff=True, groups__name=f"{role}s"
        ).first()
        if user is None:
            continue
        # The stored form is compared, not the password itself, because hashing one costs half a second.
        unchanged = kept.get(username, {}).get("stored") == user.password
        shown = (
            kept[username]["password"]
            if unchanged
            else f"changed since; manage.py staff password {username} --by WHO"
        )
        members.append({"name": name, "role": role, "username": username, "password": shown})
    return members


def _kept(passwords: Path) -> dict[str, dict[str, str]]:
    kept: dict[str, dict[str, str]] = json.loads(passwords.read_text()) if passwords.exists() else {}
    return kept
