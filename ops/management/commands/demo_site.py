"""`manage.py demo_site`: a site, its staff and three participants, to look round with. Again and again the same."""

import json
import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import transaction

from companion.access import card_of, person_named, welcome
from companion.models import Site
from ops.management.commands.card import first_origin
from ops.models import Supervision
from ops.stack.state import write_private

SITE = ("willow-house", "Willow House")
PARTICIPANTS = ("Rosa", "Tomas", "Ada")
# Otherwise easily confused when a password is read out or typed from paper.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
STAFF = {"sam": ("Sam", "supervisor"), "ines": ("Ines", "operator")}


class Command(BaseCommand):
    help = "Makes the demo site with its staff and participants, or finds what is there, and prints how to sign in."
    # People must be there even while the persona file is being mended.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--migrate", action="store_true", help="bring the database into step first")
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["migrate"]:
            call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        facts = demo(settings.COMPANION_STATE_DIR / "staff.json")
        if options["json"]:
            self.stdout.write(json.dumps(facts))
            return
        for member in facts["staff"]:
            self.stdout.write(
                f"{member['name']} ({member['role']}): {member['username']} / {member['password']}"
            )
        for person in facts["participants"]:
            self.stdout.write(f"{person['name']}: {person['card']}")


@transaction.atomic
def demo(passwords: Path) -> dict[str, Any]:
    """The demo site's people and how they sign in. Generated passwords are kept in the file `passwords`."""
    site, _ = Site.objects.get_or_create(slug=SITE[0], defaults={"name": SITE[1]})
    people = [person_named(name, site=site.slug) or welcome(name, site=site) for name in PARTICIPANTS]
    return {
        "site": site.name,
        "sign_in": f"{first_origin()}{settings.LOGIN_URL}",
        "staff": _staff(passwords, site),
        "participants": [
            {"name": person.name, "card": f"{first_origin()}/card/{card_of(person)}/"} for person in people
        ],
    }


def _staff(passwords: Path, site: Site) -> list[dict[str, str]]:
    kept: dict[str, dict[str, str]] = json.loads(passwords.read_text()) if passwords.exists() else {}
    members = []
    for username, (name, role) in STAFF.items():
        user, is_new = User.objects.get_or_create(
            username=username,
            defaults={"first_name": name, "is_staff": True, "is_superuser": role == "operator"},
        )
        if is_new:
            password = "-".join("".join(secrets.choice(ALPHABET) for _ in range(5)) for _ in range(3))
            user.set_password(password)
            user.save()
            kept[username] = {"password": password, "stored": user.password}
            write_private(passwords, json.dumps(kept, indent=1))
        # Groups are named after all their members: supervisors, operators.
        user.groups.add(Group.objects.get_or_create(name=f"{role}s")[0])
        if role == "supervisor":
            Supervision.objects.get_or_create(user=user, site=site)
        # The stored form is compared, not the password itself, because hashing one costs half a second.
        unchanged = kept.get(username, {}).get("stored") == user.password
        shown = (
            kept[username]["password"] if unchanged else f"changed since; manage.py changepassword {username}"
        )
        members.append({"name": name, "role": role, "username": username, "password": shown})
    return members
