"""`manage.py migrate`: Django's own, as the role that owns the tables where OWNER_DATABASE_URL names one."""

from django.conf import settings
from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="owner" if "owner" in settings.DATABASES else DEFAULT_DB_ALIAS)
