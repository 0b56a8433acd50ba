"""`manage.py card NAME [--create]`: prints a participant's card link as its last line."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from companion.access import card_of, person_named, welcome
from companion.models import Participant, Site


class Command(BaseCommand):
    help = "Prints the link of a participant's card. --create adds the participant first if there is none."
    # A card must be had while the persona file is being mended.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the participant's name, as staff know it")
        parser.add_argument("--create", action="store_true", help="add the participant if there is none")
        parser.add_argument("--site", metavar="SLUG", help="needed only where there are several sites")

    def handle(self, *args: Any, name: str, create: bool, site: str | None, **options: Any) -> None:
        person = person_named(name, site=site)
        if person is None:
            person = _welcome(name, create=create, site=site)
            self.stdout.write(f"{person.name} was added to {person.site.name}.")
        self.stdout.write(f"{first_origin()}/card/{card_of(person)}/")


def first_origin() -> str:
    """Where a browser finds the service: the first of TRUSTED_ORIGINS."""
    return settings.TRUSTED_ORIGINS[0].rstrip("/") if settings.TRUSTED_ORIGINS else "http://127.0.0.1:8000"


def _welcome(name: str, *, create: bool, site: str | None) -> Participant:
    named = Participant.objects.filter(name__iexact=name, is_active=True)
    if named.exists() and (site is None or named.filter(site__slug=site).exists()):
        raise CommandError(f"There are several participants named {name}. Say which one with --site.")
    if not create:
        raise CommandError(f"There is no participant named {name}. Add --create to add them.")
    sites = Site.objects.all() if site is None else Site.objects.filter(slug=site)
    found = list(sites[:2])
    if len(found) != 1:
        known = ", ".join(Site.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise CommandError(f"Say at which site with --site. There are: {known}.")
    return welcome(name, site=found[0])
