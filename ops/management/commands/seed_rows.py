"""`manage.py seed_rows N`: conversation-like rows for measuring a drill. Refuses a database that people use."""

import random
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ops.drill.seed import InUse, seed


class Command(BaseCommand):
    help = (
        "Adds N conversation-like rows to a migrated database in which nobody lives, to measure drills with."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("rows", type=int)

    def handle(self, *args: Any, rows: int, **options: Any) -> None:
        with psycopg.connect(settings.DIRECT_DATABASE_URL, autocommit=True) as session:
            try:
                for so_far in seed(session, rows, random.Random(rows)):
                    self.stdout.write(f"{so_far.rows:,} of {rows:,} rows")
            except InUse:
                raise CommandError(
                    "This database has people of its own; rows are made up for an empty one only."
                ) from None
