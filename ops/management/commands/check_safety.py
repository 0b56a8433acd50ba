"""`manage.py check_safety [TEXT]`: says which safety rule matches a text, and why; alone, it checks the rules."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from personas.errors import SafetyInvalid
from personas.safety import SafetyRules, check_file, load_file
from personas.safety.files import REAL_WORDS, rules_path

BAD_LINES = 2
MAX_LINE_CHARACTERS = 100_000


class BadLine(ValueError):
    """A line of the file is not {"id", "text"}."""


class Command(BaseCommand):
    help = (
        "Says which safety rule matches a text, and why. Without a text it checks the file of rules. "
        "Exit code 1: the rules or the file cannot be used; 2: some lines were not read."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("text", nargs="?", help="a sentence to read")
        parser.add_argument("--file", type=Path, help='read a file with one {"id", "text"} a line')
        parser.add_argument("--json", action="store_true", help='write one {"id", "tier", "rule"} a line')
        parser.add_argument(
            "--rules", type=Path, help="check this file of rules instead of the one that ships"
        )

        parser.add_argument(
            "--language",
            default="en",
            choices=sorted(REAL_WORDS),
            help="the rules that ship for this language",
        )

    def handle(self, *_arguments: Any, text: str | None, json: bool, **options: Any) -> None:
        try:
            path = options["rules"] or rules_path(options["language"])
            is_check = text is None and not options["file"]
            rules = check_file(path) if is_check else load_file(path)
        except SafetyInvalid as refusal:
            raise CommandError(str(refusal)) from None
        if options["file"]:
            self._read_file(rules, options["file"], as_json=json)
        elif text is None:
            self.stdout.write(f"Safety rules, version {rules.version}: every pattern matches what it says.")
            self.stdout.write(f"Approved by: {rules.approver}. Next review: {rules.review_by}.")
        else:
            self._explain(rules, text, as_json=json)

    def _explain(self, rules: SafetyRules, text: str, *, as_json: bool) -> None:
        finding = rules.read_message(text)
        if as_json:
            self.stdout.write(_as_line(None, finding.tier.name.lower(), finding.rule))
            return
        self.stdout.write(f"{finding.tier.name.lower()}: {finding.rule or 'no rule'}")
        for explanation in rules.explain_message(text):
            guard = f" It does not count: {explanation.guard}." if explanation.guard else ""
            self.stdout.write(f"  {explanation.rule}: {explanation.why}{guard}")
            self.stdout.write(f"    pattern: {explanation.pattern}")
        if reply := rules.read_reply(text):
            self.stdout.write(f"As a reply of the companion: {reply.severity}, {reply.rule}. {reply.why}")

    def _read_file(self, rules: SafetyRules, path: Path, *, as_json: bool) -> None:
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as refusal:
            raise CommandError(
                f"{path}: it cannot be read ({type(refusal).__name__}). Name a UTF-8 file."
            ) from None
        bad = 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                identifier, text = _read_line(line)
            except BadLine as fault:
                bad += 1
                self.stderr.write(f"{path}, line {number}: {fault}")
                continue
            finding = rules.read_message(text)
            tier = finding.tier.name.lower()
            self.stdout.write(
                _as_line(identifier, tier, finding.rule)
                if as_json
                else f"{identifier}: {tier} {finding.rule}"
            )
        if bad:
            self.stderr.write(f"{bad} lines were not read.")
            sys.exit(BAD_LINES)


def _read_line(line: str) -> tuple[str | int, str]:
    if len(line) > MAX_LINE_CHARACTERS:
        raise BadLine(f"is over {MAX_LINE_CHARACTERS} characters. Write one message a line.")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLine('is not JSON. Write {"id": "a1", "text": "…"}.') from None
    if not isinstance(row, dict):
        raise BadLine('is not an object. Write {"id": "a1", "text": "…"}.')
    identifier, text = row.get("id"), row.get("text")
    if not isinstance(identifier, str | int) or isinstance(identifier, bool):
        raise BadLine("has no “id”. Give it a text or a number.")
    if not isinstance(text, str):
        raise BadLine("has no “text”. Give it the words of one message.")
    return identifier, text


def _as_line(identifier: str | int | None, tier: str, rule: str) -> str:
    row = {"id": identifier, "tier": tier, "rule": rule or None}
    if identifier is None:
        del row["id"]
    # In ASCII: an id may have half of a surrogate pair, which no encoding of a terminal can write.
    return json.dumps(row)
