"""`manage.py catalogues`: writes the catalogues anew from the templates, keeps their translations and compiles them."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from ops.catalogues import (
    catalogue_path,
    collect_texts,
    compile_catalogue,
    is_for_participants,
    read_catalogue,
    write_catalogue,
)


class Command(BaseCommand):
    help = (
        "Writes the catalogues anew and compiles them. Exit code 1: a participants' text is not translated."
    )
    requires_system_checks = ()

    def handle(self, *_arguments: Any, **_options: Any) -> None:
        texts = collect_texts()
        missing = 0
        for language, _ in settings.LANGUAGES[1:]:
            path = catalogue_path(language)
            known = read_catalogue(path) if path.exists() else {}
            write_catalogue(path, texts, known)
            translations = {text: known[text] for text in texts if known.get(text)}
            path.with_suffix(".mo").write_bytes(compile_catalogue(translations))
            lacking = [text for text in texts if text not in translations]
            for text in lacking:
                if is_for_participants(texts[text]):
                    missing += 1
                    self.stdout.write(f"{path}: “{text}” is not translated.")
            if of_staff := sum(not is_for_participants(texts[text]) for text in lacking):
                self.stdout.write(
                    f"{path}: {of_staff} texts of staff pages are not translated, and stay English."
                )
        if missing:
            raise SystemExit(1)
