"""`manage.py safety_report`: how well the safety rules find danger in the labelled sets, and how often they err."""

import json
import sys
import tomllib
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from personas.errors import SafetyInvalid
from personas.safety import load
from personas.safety.measure import SafetyFigures, Share, measure, measure_speed, read_set

SETS = Path(settings.BASE_DIR) / "tests" / "safety"
FLOORS = "floors.toml"


class Command(BaseCommand):
    help = (
        "Reads the labelled sets with the safety rules and prints recall of red, recall of amber or red, and false "
        "alarms by kind. Exit code 1: a figure is below its floor."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--sets",
            type=Path,
            help="the folder with the sets and their floors; of a language other than English, a folder below",
        )
        parser.add_argument("--language", default="en", help="the language of the rules and of the sets")
        parser.add_argument(
            "--speed", action="store_true", help="time the rules beside a plain split of the text"
        )
        parser.add_argument("--json", action="store_true", help="write the figures as one JSON object")

    def handle(
        self, *_arguments: Any, sets: Path | None, language: str, speed: bool, json: bool, **_options: Any
    ) -> None:
        sets = sets or (SETS if language == "en" else SETS / language)
        try:
            rules = load(language)
            messages = {path.stem: read_set(path) for path in sorted(sets.glob("*.jsonl"))}
            floors = tomllib.loads((sets / FLOORS).read_text(encoding="utf-8"))
        except SafetyInvalid as refusal:
            raise CommandError(str(refusal)) from None
        except (OSError, ValueError) as refusal:
            raise CommandError(f"The labelled sets cannot be used: {refusal}") from None
        figures = {name: measure(rules.read_message, rows) for name, rows in messages.items()}
        low = [
            fault for name, found in figures.items() for fault in _compare(name, found, floors.get(name, {}))
        ]
        every = [message for rows in messages.values() for message in rows]
        timed = measure_speed(rules.read_message, every) if speed else None
        if json:
            self._write_json(rules.version, figures, asdict(timed) if timed else None, low)
        else:
            self.stdout.write(f"Safety rules, version {rules.version}.")
            for name, found in figures.items():
                self._print(name, found)
            if timed:
                self.stdout.write(
                    f"A usual message: {timed.usual_ms:.3f} ms at the 95th percentile, {timed.usual_ratio:.0f} times a "
                    f"plain split. 4,000 characters: {timed.long_ms:.2f} ms, {timed.long_ratio:.0f} times."
                )
            for fault in low:
                self.stdout.write(fault)
        if low:
            sys.exit(1)

    def _print(self, name: str, found: SafetyFigures) -> None:
        self.stdout.write(
            f"\n{name}: {found.line_shown.total} red, {found.false_lines.total} harmless messages"
        )
        self.stdout.write(f"  line shown on red     {_percent(found.line_shown)}")
        self.stdout.write(f"  red or amber noticed  {_percent(found.noticed)}")
        self.stdout.write(f"  line on harmless      {_percent(found.false_lines)}")
        self.stdout.write(f"  alarm on harmless     {_percent(found.false_alarms)}")
        for title, shares in (("missed", found.missed_by_kind), ("false alarm", found.false_by_kind)):
            for kind, share in shares.items():
                if share.hits:
                    self.stdout.write(f"  {title}: {kind} {share.hits} of {share.total}")

    def _write_json(
        self, version: str, figures: dict[str, SafetyFigures], timed: dict[str, float] | None, low: list[str]
    ) -> None:
        document = {
            "version": version,
            "sets": {name: asdict(found) for name, found in figures.items()},
            "speed": timed,
            "below_floor": low,
        }
        self.stdout.write(json.dumps(document, indent=1))


def _percent(share: Share) -> str:
    return f"{share.percent:5.1f} %  ({share.hits} of {share.total})"


def _compare(name: str, found: SafetyFigures, floors: dict[str, float]) -> list[str]:
    """Return a sentence for each figure below its floor, or above its ceiling (`max_…`)."""
    faults = []
    for key, bound in floors.items():
        share: Share = getattr(found, key.removeprefix("max_"))
        if share.percent > bound if key.startswith("max_") else share.percent < bound:
            faults.append(f"{name}: {key} is {bound} %, and the figure is {share.percent:.1f} %.")
    return faults
