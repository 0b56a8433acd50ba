"""`manage.py seed_rows N`: conversation-like rows for measuring a drill. Refuses a database that people use."""

import random
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from ops.backups.commands import arguments
from ops.backups.commands.error_exit import exit_on_error
from ops.backups.connecting.session import open_scratch
from ops.backups.run.monitor import RunMonitor
from ops.backups.seed import seed
from ops.management.commands.restore_drill import find_direct_address

SETTING = "DIRECT_DATABASE_URL"


class Command(BaseCommand):
    help = (
        "Adds N conversation-like rows to a migrated database without participants, to measure drills with."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("rows", type=arguments.parse_one_or_more, help="how many")

    def handle(self, *args: Any, rows: int, **options: Any) -> None:
        with exit_on_error(self.stderr.write, RunMonitor()):
            address = find_direct_address()
            with open_scratch(address, setting=SETTING) as session:
                # The queries name the service's tables without a schema.
                session.execute("SET search_path TO DEFAULT")
                for so_far in seed(session, rows, random.Random(rows)):
                    self.stdout.write(f"{so_far.rows:,} of {rows:,} rows")
