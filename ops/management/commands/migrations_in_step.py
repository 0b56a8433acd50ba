"""Fails when a model has changed and no migration says so. Needs no database, unlike `makemigrations --check`."""

from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState


class Command(BaseCommand):
    """`manage.py migrations_in_step`: exit code 0 when the migrations describe the models."""

    help = __doc__
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        loader = MigrationLoader(None)
        if conflicts := loader.detect_conflicts():
            raise CommandError(f"Two migrations claim to be the last of {', '.join(sorted(conflicts))}.")
        detector = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
        changes = detector.changes(graph=loader.graph)
        if changes:
            lines = [
                f"{app}: {operation.describe()}"
                for app, migrations in sorted(changes.items())
                for migration in migrations
                for operation in migration.operations
            ]
            raise CommandError("Run manage.py makemigrations; missing are:\n" + "\n".join(lines))
