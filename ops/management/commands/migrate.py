"""`manage.py migrate`: Django's own, as the role that owns the tables where OWNER_DATABASE_URL names one."""

from argparse import ArgumentParser

from django.conf import settings
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS


class Command(migrate.Command):
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)  # type: ignore[no-untyped-call]
        parser.set_defaults(database="owner" if "owner" in settings.DATABASES else DEFAULT_DB_ALIAS)
