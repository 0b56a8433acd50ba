"""Every text of a participant's page is in the catalogue, translated, and worded by the rules of its language (A6)."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation

from companion.cards import PICTURES
from companion.page_texts import PICTURE_NAMES
from ops.catalogues import (
    PAGES,
    ROOT,
    catalogue_path,
    collect_texts,
    compile_catalogue,
    read_catalogue,
)
from ops.page_wording import lint_texts
from personas.languages import language_path
from personas.safety.files import rules_path

OTHERS = [language for language, _ in settings.LANGUAGES[1:]]
SCRIPTS = sorted((ROOT / "companion" / "static" / "companion").glob("*.js"))
_TAGS = re.compile(r"\{%.*?%\}|\{#.*?#\}|\{\{.*?\}\}", re.S)
_MARKED = re.compile(r"\{% blocktranslate.*?endblocktranslate %\}", re.S)
_SPOKEN = re.compile(r'\b(?:aria-label|aria-description|placeholder|title|alt)="([^"]*)"')
_UNSEEN = re.compile(r"<(script|style|svg)\b.*?</\1>", re.S)
_WORD = re.compile(r"[A-Za-zÁ-ú]{2,}")
_STRING = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""")
_SENTENCE = re.compile(r"^[A-Z][a-z]+(?: [a-z']+)+[.?!]?$|^[A-Z][a-z]+[.?!]$")
# Served by a process without Django, before any language is known: it says it in each.
_WITHOUT_CATALOGUE = {"unavailable.html", "unavailable.es.html"}


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_is_translated_and_none_is_left_over(language: str) -> None:
    translations = read_catalogue(catalogue_path(language))

    assert sorted(translations) == sorted(collect_texts()), "run manage.py catalogues"
    assert [text for text, translation in translations.items() if not translation] == []


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_compiled_is_what_is_written(language: str) -> None:
    path = catalogue_path(language)
    translations = read_catalogue(path)

    assert path.with_suffix(".mo").read_bytes() == compile_catalogue(translations), "run manage.py catalogues"
    with translation.override(language):
        assert {text: translation.gettext(text) for text in translations} == translations


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_keeps_the_places_of_its_text(language: str) -> None:
    place = re.compile(r"%\(\w+\)s|\{\w+\}")

    for text, translated in read_catalogue(catalogue_path(language)).items():
        assert sorted(place.findall(text)) == sorted(place.findall(translated)), text


@pytest.mark.parametrize("language", OTHERS)
def test_translations_keep_the_wording_rules_of_their_language(language: str) -> None:
    assert lint_texts(language, read_catalogue(catalogue_path(language)).values()) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_a_persona_file_and_safety_rules_too(language: str) -> None:
    assert language_path(settings.COMPANION_PERSONA, language).is_file()
    assert rules_path(language).is_file()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in _WITHOUT_CATALOGUE], ids=lambda page: page.name
)
def test_no_text_of_a_template_stands_outside_the_catalogue(page: Path) -> None:
    source = _MARKED.sub("", page.read_text(encoding="utf-8"))
    bare = _TAGS.sub("", _UNSEEN.sub("", source))
    spoken = [text for text in _SPOKEN.findall(bare) if _WORD.search(text)]
    seen = [text.strip() for text in re.split(r"<[^>]*>", bare) if _WORD.search(text)]

    assert seen + spoken == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_no_script_holds_a_text_that_is_shown(script: Path) -> None:
    source = re.sub(r"/\*.*?\*/|//[^\n]*", "", script.read_text(encoding="utf-8"), flags=re.S)

    assert [text for _, text in _STRING.findall(source) if _SENTENCE.match(text)] == []


def test_each_picture_of_a_card_has_its_name_in_the_catalogue() -> None:
    assert [name.lower() for name in PICTURE_NAMES] == list(PICTURES)
