"""`manage.py check_persona [PATH]`: checks a persona file and the wording of the participants' pages."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ops.catalogues import catalogue_path, read_for_participants
from ops.page_wording import lint_page, lint_texts
from personas.errors import PersonaInvalid
from personas.languages import load_languages

TEMPLATES = Path(settings.BASE_DIR) / "templates"


class Command(BaseCommand):
    help = "Checks a persona file and the wording of the participants' pages. Exit code 1: it prints what to correct."
    # The system check for the persona would stop this command before it could report.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", nargs="?", type=Path, default=settings.COMPANION_PERSONA)

    def handle(self, *_arguments: Any, path: Path, **_options: Any) -> None:
        faults = _check_pages()
        try:
            languages = load_languages(path)
        except PersonaInvalid as refusal:
            raise CommandError("\n".join([str(refusal), *faults])) from None
        if faults:
            raise CommandError("\n".join(faults))
        for language, persona in languages.items():
            what = f"{persona.name} ({language}), version {persona.version}"
            self.stdout.write(f"{what}: every line is there and reads well.")
            self.stdout.write(f"Approved by: {persona.approver} Next review: {persona.review_by}.")


def _check_pages() -> list[str]:
    pages = sorted([*TEMPLATES.glob("*.html"), *(TEMPLATES / "companion").glob("*.html")])
    catalogues = [
        f"{catalogue_path(language)}: “{finding.sentence}” {finding.rule}. To mend it: {finding.mend}."
        for language, _ in settings.LANGUAGES[1:]
        for finding in lint_texts(language, read_for_participants(language).values())
    ]
    return catalogues + [
        f"{page}: “{finding.sentence}” {finding.rule}. To mend it: {finding.mend}."
        for page in pages
        for finding in lint_page(page.name, page.read_text(encoding="utf-8"), _language_of(page))
    ]


def _language_of(page: Path) -> str:
    """The language in the name of a page, as in `unavailable.es.html`; otherwise the first."""
    named = page.stem.rpartition(".")[2]
    return named if named in dict(settings.LANGUAGES) else settings.LANGUAGES[0][0]
