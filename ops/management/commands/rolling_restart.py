"""`manage.py rolling_restart PORT …`: restarts web processes one after another, without a paused reply."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ops.rolling_restart import RestartBroken, RollingRestart

SYSTEMD = "sudo --non-interactive /usr/bin/systemctl restart companion-web@{port}.service"


class Command(BaseCommand):
    help = (
        "Restarts the web processes on these ports one after another. Each lets its replies end, hands the questions "
        "that wait to the others, and must answer /readyz before the next one goes. Exit code 0: all serve again; "
        "1: it went no further, and the last line says why."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ports", metavar="PORT", nargs="+", type=int)
        parser.add_argument(
            "--with",
            dest="command",
            default=SYSTEMD,
            metavar="COMMAND",
            help="restarts the process on {port} and returns once the old one has ended (default: %(default)s)",
        )
        parser.add_argument(
            "--ready-within", type=float, default=120.0, metavar="S", help="seconds for a process to start"
        )

    def handle(self, *args: Any, ports: list[int], command: str, **options: Any) -> None:
        if "{port}" not in command:
            raise CommandError("The command after --with names no {port}.")
        if len(ports) == 1:
            self.stdout.write(
                "Only one process: while it restarts, no other serves here, and waiting questions pause."
            )
        restart = RollingRestart(
            ports=ports, command=command, ready_within_s=options["ready_within"], say=self._say
        )
        try:
            restart.run()
        except RestartBroken as broken:
            raise CommandError(str(broken)) from None

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
