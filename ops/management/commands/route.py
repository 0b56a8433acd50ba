"""`manage.py route`: shows and selects presets, and measures how fast processes follow."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from ops import names
from ops.people.command import parse
from ops.project.wiring.routing import build_routing, build_selector
from ops.selections import board_text, rows
from ops.selections.board import read_board
from ops.selections.selector import ConfirmationRequired, SelectionRefused, SelectionRequest, Selector
from ops.stack.switch import typed_by
from ops.text import parse_length
from routing.errors import RoutingFileInvalid
from routing.lanes import Routing, rehearsal_routing
from routing.selection import Selection, to_document

NOT_CONFIRMED = 3
HISTORY_ROWS = 20


class Command(BaseCommand):
    help = (
        "Shows which preset is in force and how the lanes are, selects another, or goes back to normal. "
        "Every process follows within a second; nothing restarts, and replies that run end where they began. "
        "Anything but normal ends by itself after four hours. "
        "Exit code 0: done; 1: nothing was changed; 3: a confirmation is needed, and was not given."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(
            dest="do", required=True, metavar="show|select|revert|history|measure|applied"
        )
        subcommands = {
            "show": "what is in force, each lane, each preset, each web process",
            "select": "send turns that start from now on along another reviewed chain",
            "revert": "back to normal",
            "history": "who selected what, and why",
            "measure": "select a preset, time the first request there, go back, time that too",
            "applied": "how long a selection took to the first call at its new head, from the turns that are stored",
        }
        parsers = {name: commands.add_parser(name, help=help) for name, help in subcommands.items()}
        for subparser in parsers.values():
            subparser.add_argument("--json", action="store_true", help="print one JSON object for programs")
        for name in ("select", "measure"):
            parsers[name].add_argument("preset", help="one that `route show` lists")
        for name in ("select", "revert", "measure"):
            parsers[name].add_argument("--by", required=True, metavar="WHO", help="who decides it")
            parsers[name].add_argument(
                "--reason",
                required=name != "revert",
                default="Back to normal.",
                metavar="WHY",
                help="why; no word about any participant",
            )
        parsers["applied"].add_argument(
            "version", nargs="?", type=int, help="of the selection; the newest unless said otherwise"
        )
        parsers["select"].add_argument(
            "--for",
            dest="lasts",
            type=_parse_duration,
            metavar="4h",
            help="how long, such as 45m, 4h or 1h30m",
        )
        for name in ("select", "measure"):
            parsers[name].add_argument("--yes", action="store_true", help="confirm a selection that needs it")

    def handle(self, *args: Any, do: str, **options: Any) -> None:
        for name, reader in (
            ("by", names.clean_by),
            ("reason", names.clean_reason),
            ("preset", names.clean_name),
        ):
            if name in options:
                options[name] = parse(reader, options[name])
        try:
            routing = _read_routing(do)
            getattr(self, f"_{do}")(routing, build_selector(routing), options)
        except RoutingFileInvalid as refusal:
            raise CommandError(
                f"The service cannot start like this. {refusal}\nProcesses that run go on with the file as they "
                "read it: the page /ops/routing/ still selects, and `manage.py route revert` still goes back."
            ) from None
        except ConfirmationRequired as refusal:
            raise CommandError(
                f"Nothing was changed. {refusal} Add --yes to select it all the same.",
                returncode=NOT_CONFIRMED,
            ) from None
        except SelectionRefused as refusal:
            raise CommandError(f"Nothing was changed. {refusal}") from None
        except OperationalError:
            raise CommandError(
                "Nothing was changed: the database does not answer. Every process keeps the selection it serves."
            ) from None

    def _show(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        board = read_board(routing)
        self._write(
            board_text.board_document(board, routing)
            if options["json"]
            else board_text.format_board(board, routing)
        )

    def _select(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        request = SelectionRequest(
            preset=options["preset"],
            by=options["by"],
            reason=options["reason"],
            lasts=options["lasts"],
            seen=rows.read_newest().version,
            is_confirmed=options["yes"],
            is_typed=True,
            account=typed_by(),
        )
        try:
            chosen = selector.select(request)
        except ConfirmationRequired as refusal:
            if not self._is_confirmed(refusal):
                raise
            chosen = selector.select(replace(request, is_confirmed=True))
        self._write_selected(chosen, options)

    def _revert(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        before = rows.read_newest()
        chosen = selector.revert(
            by=options["by"], reason=options["reason"], is_typed=True, account=typed_by()
        )
        if chosen.version == before.version and not options["json"]:
            self._write("Normal is selected already. Nothing was changed.")
        else:
            self._write_selected(chosen, options)

    def _history(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        history = rows.read_history(HISTORY_ROWS)
        if options["json"]:
            self._write({"selections": [to_document(row) for row in history]})
            return
        self._write(
            "\n".join(board_text.format_selection(row) for row in reversed(history))
            or "Nothing has been selected yet."
        )

    def _measure(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        from ops.measure import run

        request = SelectionRequest(
            preset=options["preset"],
            by=options["by"],
            reason=options["reason"],
            lasts=run.SELECTION_LASTS,
            is_confirmed=options["yes"],
            is_typed=True,
            account=typed_by(),
        )
        try:
            measured = run.measure(routing, selector, request, state_dir=settings.COMPANION_STATE_DIR)
        except (OperationalError, run.MeasurementInterrupted) as failure:
            away = "The service" if isinstance(failure, run.MeasurementInterrupted) else "The database"
            raise CommandError(
                f"{away} stopped answering during the measurement. Look with `manage.py route show`; "
                "the measured selection ends by itself within five minutes."
            ) from None
        self._write(measured.to_document() if options["json"] else measured.format_text())
        if not measured.is_in_time:
            raise CommandError("A process took longer than ten seconds, or did not follow.")

    def _applied(self, routing: Routing, selector: Selector, options: dict[str, Any]) -> None:
        from ops.selections.applied import read_applied

        applied = read_applied(routing, options["version"])
        self._write(applied.to_document() if options["json"] else applied.format_text())
        if not applied.is_in_time:
            raise CommandError("The first call took longer than ten seconds, or no turn started earlier.")

    def _write_selected(self, chosen: Selection, options: dict[str, Any]) -> None:
        if options["json"]:
            self._write(to_document(chosen))
            return
        self._write(board_text.format_selection(chosen).strip())
        self._write(
            "Turns that start from now on follow it. `manage.py route show` says whether every process does."
        )

    def _is_confirmed(self, refusal: ConfirmationRequired) -> bool:
        if not sys.stdin.isatty():
            return False
        for concern in refusal.concerns:
            self.stdout.write(concern.said)
        self.stdout.write("Select it all the same? Type yes: ", ending="")
        self.stdout.flush()
        return sys.stdin.readline().strip().lower() == "yes"

    def _write(self, output: str | dict[str, Any]) -> None:
        self.stdout.write(output if isinstance(output, str) else json.dumps(output))


def _read_routing(do: str) -> Routing:
    try:
        return build_routing()
    except RoutingFileInvalid:
        if do != "revert":
            raise
        # Reverting needs no file: every routing file has a preset `normal`.
        return rehearsal_routing(settings.REHEARSAL_URL)


def _parse_duration(text: str) -> timedelta:
    try:
        return parse_length(text)
    except ValueError as invalid:
        raise ArgumentTypeError(str(invalid)) from None
