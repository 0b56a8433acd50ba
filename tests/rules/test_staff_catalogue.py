"""Every text that staff meet on a page is in the catalogue: templates, scripts and the sentences of the rooms (A6)."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion.states import TurnState
from ops.alerts.kinds import AlertKind
from ops.catalogues import PLURAL, REPORTS, ROOT, STAFF_PAGES, TEMPLATES, collect_texts, find_named
from ops.project.wiring.status import build_facts
from ops.staff import page_texts
from ops.staff.script_texts import TEXTS, write_script_texts
from ops.supervision.figures import STEPS
from ops.supervision.record_search import WHATS
from ops.supervision.record_words import WORDS
from tests.bare_texts import find_bare_texts, find_script_texts

STATIC = ROOT / "ops" / "static" / "ops"
SCRIPTS = sorted(STATIC.glob("*.js"))
# The name of a time scale, a name of a file and a name of a setting are the same in every language.
SAME_EVERYWHERE = {"UTC", ", UTC"}
ROOMS = ("ops/staff", "ops/supervision")
# Of the other rooms those that pages alone read from, or that commands share with pages sentence by sentence.
SHARED = (
    "ops/access.py",
    "ops/alerts/formatting.py",
    "ops/alerts/rows.py",
    "ops/people/card_sheets.py",
    "ops/people/needs.py",
    "ops/selections/selector.py",
    "ops/status/text.py",
    "ops/text.py",
    "ops/transcripts/text.py",
    "ops/transcripts/visit_text.py",
)
MODULES = [path for room in ROOMS for path in sorted((ROOT / room).glob("*.py"))] + [
    ROOT / name for name in SHARED
]
# Kept as the reason of a selection, as if it had been typed.
_STORED = ["Back to normal, from the page."]
# Letters to staff and on-call: no page.
_LETTERS = {"ringing.py"}
_SENTENCE = re.compile(r"^[A-Z][a-z']*(?: [^ ]+)+[.?!]$", re.S)


def find_bare_sentences(source: str) -> list[str]:
    """The sentences of a module that are neither docstrings nor given to the catalogue. A part in braces is a place."""
    module = ast.parse(source)
    known = {id(node) for statement in ast.walk(module) for node in _documenting(statement)}
    named = {form for text in find_named(module) for form in text.split(PLURAL)}
    return [
        text
        for node in ast.walk(module)
        if id(node) not in known and (text := _read(node)) and _SENTENCE.match(text) and text not in named
    ]


def _documenting(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a text that stands for itself: a docstring of a module, a class, a function or a constant."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
        yield from ast.walk(node.value)


def _read(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


@pytest.mark.parametrize("page", STAFF_PAGES, ids=lambda page: page.name)
def test_no_text_of_a_staff_template_stands_outside_the_catalogue(page: Path) -> None:
    found = find_bare_texts(re.sub(r"<code>.*?</code>", "", page.read_text(encoding="utf-8")))

    assert [text for text in found if text not in SAME_EVERYWHERE] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_no_script_of_staff_holds_a_text_that_is_shown(script: Path) -> None:
    assert find_script_texts(script.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: f"{module.parent.name}/{module.name}")
def test_no_sentence_of_a_room_of_staff_stands_outside_the_catalogue(module: Path) -> None:
    if module.name not in _LETTERS:
        found = find_bare_sentences(module.read_text(encoding="utf-8"))
        assert [text for text in found if text not in _STORED] == []


@pytest.mark.parametrize(
    "written",
    [
        "<p>Open a visit</p>",
        '<p>{% translate "Open" %} a visit</p>',
        '<button aria-label="Open a visit"></button>',
        '{{ name|default:"A person" }}',
        '{% include "ops/_more.html" with advice="Choose a site." %}',
        "<p>{{ count }}{{ count|pluralize }}</p>",
    ],
)
def test_a_text_of_a_template_that_is_not_in_the_catalogue_is_found(written: str) -> None:
    assert find_bare_texts(written) != []


@pytest.mark.parametrize(
    "written",
    [
        'say(place, "Closed.");',
        "put(node, `for ${age}`);",
        'put(node, "site", ", screen locked");',
        'const LINE = "There is nothing to send.";',
        "put(node, `${count} things need a person`);",
    ],
)
def test_a_text_of_a_script_that_is_not_in_the_catalogue_is_found(written: str) -> None:
    assert find_script_texts(written) != []


def test_a_sentence_of_a_module_that_is_not_in_the_catalogue_is_found() -> None:
    assert find_bare_sentences('raise Refused("Choose a machine.")') == ["Choose a machine."]
    assert find_bare_sentences('raise Refused(f"Choose {name} again.")') == ["Choose {} again."]
    called = 'from django.utils.translation import gettext\nraise Refused(gettext("Choose a machine."))'
    assert find_bare_sentences(called) == []


def test_the_files_that_are_left_out_are_there_and_no_staff_page_includes_one() -> None:
    assert {path.name for path in (TEMPLATES / "ops").glob("*.html")} >= REPORTS
    for page in STAFF_PAGES:
        included = set(re.findall(r'\{% include "ops/([^"]+)"', page.read_text(encoding="utf-8")))
        assert included & REPORTS == set(), page.name


def test_scripts_ask_for_the_texts_that_pages_hand_over_and_for_no_others() -> None:
    source = "".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    asked = set(
        re.findall(r'"([a-z_]+)"', " ".join(re.findall(r"(?:textOf|countedText)\(([^;\n]*)", source)))
    )
    asked |= set(re.findall(r'"((?:sound|title|taken)_[a-z_]+)"', source))
    given = set(json.loads(write_script_texts()))

    assert given - asked == set()
    assert {key for key in asked if "_" in key} - given == set()
    assert set(TEXTS) <= given


def test_every_alert_and_every_rule_of_the_dashboard_is_in_the_catalogue() -> None:
    texts = collect_texts()
    shown = {sentence for kind in AlertKind for sentence in (kind.text, kind.do)}
    shown |= {rule.meaning for rule in build_facts().rules}

    assert shown - set(texts) == set()


def test_every_code_that_a_template_or_the_record_names_by_a_value_has_its_words() -> None:
    assert set(page_texts.TURN_STATES) == {state.value for state in TurnState} - {"paused"}
    assert {*page_texts.FLAG_STEPS, "seen"} == set(STEPS)
    assert set(WORDS) == {what.replace("_", " ").capitalize() for what in WHATS}
