"""`manage.py route`: which chain is in force, how fast it got there, and moving traffic to another."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from ops import names
from ops.people.command import read
from ops.selections import board_text, selecting
from ops.selections.board import board
from ops.selections.selecting import AsksTwice, Choice, SelectionRefused, Selector
from ops.stack.switch import typed_by
from ops.text import parse_length
from routing.errors import RoutingFileInvalid
from routing.lanes import Routing, rehearsal_routing
from routing.selection import Selection, to_document

SAID_NO = 3
SHOWN = 20


class Command(BaseCommand):
    help = (
        "Shows which preset is in force and how the lanes are, selects another, or goes back to normal. "
        "Every process follows within a second; nothing restarts, and replies that run end where they began. "
        "Anything but normal ends by itself after four hours. "
        "Exit code 0: done; 1: nothing was changed; 3: it takes a second yes, which was not given."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(
            dest="do", required=True, metavar="show|select|revert|history|measure|applied"
        )
        parts = {
            "show": "what is in force, each lane, each preset, each web process",
            "select": "send turns that start from now on along another reviewed chain",
            "revert": "back to normal",
            "history": "who selected what, and why",
            "measure": "select a preset, time the first request there, go back, time that too",
            "applied": "how long a selection took to the first call at its new head, from the turns that are stored",
        }
        made = {name: commands.add_parser(name, help=help) for name, help in parts.items()}
        for part in made.values():
            part.add_argument("--json", action="store_true", help="print one JSON object for programs")
        for name in ("select", "measure"):
            made[name].add_argument("preset", help="one that `route show` lists")
        for name in ("select", "revert", "measure"):
            made[name].add_argument("--by", required=True, metavar="WHO", help="who decides it")
            made[name].add_argument(
                "--reason",
                required=name != "revert",
                default="Back to normal.",
                metavar="WHY",
                help="why; no word about any participant",
            )
        made["applied"].add_argument(
            "version", nargs="?", type=int, help="of the selection; the newest unless said otherwise"
        )
        made["select"].add_argument(
            "--for", dest="lasts", type=_length, metavar="4h", help="how long, such as 45m, 4h or 1h30m"
        )
        for name in ("select", "measure"):
            made[name].add_argument("--yes", action="store_true", help="the second yes, where it takes one")

    def handle(self, *args: Any, do: str, **options: Any) -> None:
        # Wiring reads the routing file, so it is asked late.
        from ops.project import wiring

        for name, reader in (("by", names.who), ("reason", names.why), ("preset", names.name)):
            if name in options:
                options[name] = read(reader, options[name])
        try:
            routing = _routing(wiring.build_routing, do)
            getattr(self, f"_{do}")(routing, wiring.build_selector(routing), options)
        except RoutingFileInvalid as refusal:
            raise CommandError(
                f"The service cannot start like this. {refusal}\nProcesses that run go on with the file as they "
                "read it: the page /ops/routing/ still selects, and `manage.py route revert` still goes back."
            ) from None
        except AsksTwice as refusal:
            raise CommandError(
                f"Nothing was changed. {refusal} Say --yes if it is to be selected all the same.",
                returncode=SAID_NO,
            ) from None
        except SelectionRefused as refusal:
            raise CommandError(f"Nothing was changed. {refusal}") from None
        except OperationalError:
            raise CommandError(
                "Nothing was changed: the database does not answer. Every process goes on with what it serves."
            ) from None

    def _show(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        seen = board(routing)
        self._say(board_text.document(seen, routing) if options["json"] else board_text.text(seen, routing))

    def _select(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        choice = Choice(
            preset=options["preset"],
            by=options["by"],
            reason=options["reason"],
            lasts=options["lasts"],
            seen=selecting.newest().version,
            said_yes_twice=options["yes"],
            is_typed=True,
            account=typed_by(),
        )
        try:
            chosen = selector.select(choice)
        except AsksTwice as refusal:
            if not self._says_yes(refusal):
                raise
            chosen = selector.select(replace(choice, said_yes_twice=True))
        self._selected(chosen, options)

    def _revert(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        before = selecting.newest()
        chosen = selector.revert(
            by=options["by"], reason=options["reason"], is_typed=True, account=typed_by()
        )
        if chosen.version == before.version and not options["json"]:
            self._say("Normal is selected already. Nothing was changed.")
        else:
            self._selected(chosen, options)

    def _history(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        rows = selecting.history(SHOWN)
        if options["json"]:
            self._say({"selections": [to_document(row) for row in rows]})
            return
        self._say(
            "\n".join(board_text.line_of(row) for row in reversed(rows)) or "Nothing has been selected yet."
        )

    def _measure(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        from ops.measure import run

        choice = Choice(
            preset=options["preset"],
            by=options["by"],
            reason=options["reason"],
            lasts=run.SELECTION_LASTS,
            said_yes_twice=options["yes"],
            is_typed=True,
            account=typed_by(),
        )
        try:
            measured = run.measure(routing, selector, choice, state_dir=settings.COMPANION_STATE_DIR)
        except (OperationalError, run.MeasurementInterrupted) as gone:
            who = "The service" if isinstance(gone, run.MeasurementInterrupted) else "The database"
            raise CommandError(
                f"{who} stopped answering meanwhile. Look with `manage.py route show`; "
                "what was selected to be measured ends by itself within five minutes."
            ) from None
        self._say(measured.to_document() if options["json"] else measured.format_text())
        if not measured.is_in_time:
            raise CommandError("It took longer than ten seconds, or never came.")

    def _applied(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        from ops.selections.applied import applied

        found = applied(routing, options["version"])
        self._say(found.document() if options["json"] else found.text())
        if not found.is_in_time:
            raise CommandError("It took longer than ten seconds, or nobody wrote sooner.")

    def _selected(self, chosen: Selection, options: dict[str, Any]) -> None:
        if options["json"]:
            self._say(to_document(chosen))
            return
        self._say(board_text.line_of(chosen).strip())
        self._say(
            "Turns that start from now on follow it. `manage.py route show` says whether every process does."
        )

    def _says_yes(self, refusal: AsksTwice) -> bool:
        if not sys.stdin.isatty():
            return False
        for concern in refusal.concerns:
            self.stdout.write(concern.said)
        self.stdout.write("Select it all the same? Type yes: ", ending="")
        self.stdout.flush()
        return sys.stdin.readline().strip().lower() == "yes"

    def _say(self, what: str | dict[str, Any]) -> None:
        self.stdout.write(what if isinstance(what, str) else json.dumps(what))


def _routing(build: Callable[[], Routing], do: str) -> Routing:
    try:
        return build()
    except RoutingFileInvalid:
        if do != "revert":
            raise
        # Going back needs no file: every file has a preset `normal`.
        return rehearsal_routing(settings.REHEARSAL_URL)


def _length(text: str) -> timedelta:
    try:
        return parse_length(text)
    except ValueError as wrong:
        raise ArgumentTypeError(str(wrong)) from None
