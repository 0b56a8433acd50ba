"""Every text of a page is in the catalogue; those of participants are translated, and worded by their rules (A6)."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from companion.cards import PICTURES
from companion.page_texts import PICTURE_NAMES
from ops.catalogues import (
    PAGES,
    PLURAL,
    ROOT,
    catalogue_path,
    collect_texts,
    compile_catalogue,
    is_for_participants,
    read_catalogue,
    read_for_participants,
    write_catalogue,
)
from ops.page_wording import lint_texts
from personas.languages import language_path
from personas.safety.files import rules_path
from tests.bare_texts import find_bare_texts

OTHERS = [language for language, _ in settings.LANGUAGES[1:]]
SCRIPTS = sorted((ROOT / "companion" / "static" / "companion").glob("*.js"))
_STRING = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""")
_SENTENCE = re.compile(r"^[A-Z][a-z]+(?: [a-z']+)+[.?!]?$|^[A-Z][a-z]+[.?!]$")
# Served by a process without Django, before any language is known: it says it in each.
_WITHOUT_CATALOGUE = {"unavailable.html", "unavailable.es.html"}


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_of_participants_is_translated_and_none_is_left_over(language: str) -> None:
    translations, texts = read_catalogue(catalogue_path(language)), collect_texts()

    assert sorted(translations) == sorted(texts), "run manage.py catalogues"
    lacking = {text for text, translation in translations.items() if not translation}
    assert [text for text in lacking if is_for_participants(texts[text])] == []


def test_a_text_is_for_staff_alone_only_where_no_file_of_participants_names_it() -> None:
    assert not is_for_participants(["ops/staff/desk_text.py", "templates/ops/people.html"])
    assert is_for_participants(["ops/staff/desk_text.py", "templates/companion/chat.html"])
    assert is_for_participants(["templates/base.html"])
    assert is_for_participants(["companion/page_texts.py"])


def test_a_catalogue_is_read_as_it_was_written_with_every_form_of_a_text(tmp_path: Path) -> None:
    written = {"A\nline": "Una\nlínea", f"one{PLURAL}many": f"uno{PLURAL}muchos", f"1{PLURAL}2": "", '"': ""}
    path = tmp_path / "es" / "django.po"
    write_catalogue(path, {text: ["ops/x.py"] for text in written}, written)

    assert read_catalogue(path) == written


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_compiled_is_what_is_written(language: str) -> None:
    path = catalogue_path(language)
    translations = read_catalogue(path)

    assert path.with_suffix(".mo").read_bytes() == compile_catalogue(translations), "run manage.py catalogues"
    with translation.override(language):
        for text, translated in translations.items():
            one, *many = text.split(PLURAL)
            if many and translated:
                assert [translation.ngettext(one, many[0], number) for number in (1, 2)] == translated.split(
                    PLURAL
                )
            elif translated:
                assert translation.gettext(text) == translated


def test_the_english_of_the_installation_changes_no_text() -> None:
    with translation.override(settings.LANGUAGE_CODE):
        for text in collect_texts():
            one, *many = text.split(PLURAL)
            assert translation.gettext(one) == one
            assert not many or [translation.ngettext(one, many[0], number) for number in (1, 2)] == [
                one,
                *many,
            ]


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_keeps_the_places_of_its_text(language: str) -> None:
    place = re.compile(r"%\(\w+\)s|\{\w*\}")

    for text, translated in read_catalogue(catalogue_path(language)).items():
        if translated:
            assert sorted(place.findall(text)) == sorted(place.findall(translated)), text


@pytest.mark.parametrize("language", OTHERS)
def test_translations_keep_the_wording_rules_of_their_language(language: str) -> None:
    assert lint_texts(language, read_for_participants(language).values()) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_a_persona_file_and_safety_rules_too(language: str) -> None:
    assert language_path(settings.COMPANION_PERSONA, language).is_file()
    assert rules_path(language).is_file()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in _WITHOUT_CATALOGUE], ids=lambda page: page.name
)
def test_no_text_of_a_template_stands_outside_the_catalogue(page: Path) -> None:
    assert find_bare_texts(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_no_script_holds_a_text_that_is_shown(script: Path) -> None:
    source = re.sub(r"/\*.*?\*/|//[^\n]*", "", script.read_text(encoding="utf-8"), flags=re.S)

    assert [text for _, text in _STRING.findall(source) if _SENTENCE.match(text)] == []


def test_each_picture_of_a_card_has_its_name_in_the_catalogue() -> None:
    assert [name.lower() for name in PICTURE_NAMES] == list(PICTURES)


@pytest.mark.parametrize("language", OTHERS)
def test_the_pictures_of_a_card_are_named_in_the_language_of_the_page(language: str) -> None:
    with translation.override(language):
        grid = render_to_string("companion/_picture_grid.html", {"pictures": PICTURES})
        assert all(f"</svg>{translation.gettext(name)}</button>" in grid for name in PICTURE_NAMES)
        assert translation.gettext("Apple") != "Apple"
