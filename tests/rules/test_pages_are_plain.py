"""The pages stay plain: small modules, text as text, nothing inline, nothing kept, nothing from elsewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STATIC = (ROOT / "companion" / "static" / "companion", ROOT / "ops" / "static" / "ops")
SCRIPTS = sorted(path for room in STATIC for path in room.glob("*.js"))
BASE = STATIC[0] / "base.css"
SHEETS = sorted(path for room in STATIC for path in room.glob("*.css"))
TEMPLATES = [
    ROOT / "templates" / "base.html",
    *sorted((ROOT / "templates").glob("unavailable*.html")),
    *sorted((ROOT / "templates").glob("[0-9]*.html")),
    *sorted((ROOT / "templates" / "companion").glob("*.html")),
]
FORBIDDEN_IN_SCRIPTS = {
    "markup made from text": r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser",
    "code made from text": r"\beval\(|new Function\(",
    "something kept": r"localStorage|sessionStorage|indexedDB|document\.cookie|caches\.|serviceWorker",
    "an address elsewhere": r"https?://",
    "a left-over": r"console\.|debugger",
}
# It tries whether the browser takes cookies, and removes the try in the next line.
EXCEPTIONS = {("something kept", "card.js")}
FORBIDDEN_IN_TEMPLATES = {
    "a style inside the page": r"<style|\sstyle=",
    "a script inside the page": r"<script(?![^>]*\ssrc=)|\son[a-z]+=|javascript:",
    "an address elsewhere": r"(?:src|href|action)=[\"']?(?:https?:)?//",
    "text taken for markup": r"\|\s*safe|autoescape",
}


def by_name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", SCRIPTS, ids=by_name)
def test_a_module_is_small_and_says_what_it_is_for(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert len(lines) < 200
    assert lines[0].startswith("/** ") and lines[0].endswith(". */")


@pytest.mark.parametrize("path", SCRIPTS, ids=by_name)
@pytest.mark.parametrize("what", FORBIDDEN_IN_SCRIPTS)
def test_a_module_holds_nothing_forbidden(path: Path, what: str) -> None:
    found = re.search(FORBIDDEN_IN_SCRIPTS[what], path.read_text(encoding="utf-8"))
    assert bool(found) == ((what, path.name) in EXCEPTIONS)


@pytest.mark.parametrize("path", TEMPLATES, ids=by_name)
@pytest.mark.parametrize("what", FORBIDDEN_IN_TEMPLATES)
def test_a_template_holds_nothing_forbidden(path: Path, what: str) -> None:
    assert not re.search(FORBIDDEN_IN_TEMPLATES[what], path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SHEETS, ids=by_name)
def test_a_style_sheet_fetches_nothing(path: Path) -> None:
    assert not re.search(r"url\(|@import|@font-face", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SHEETS, ids=by_name)
def test_a_style_sheet_is_small_and_says_what_it_is_for(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert len(lines) < 400
    assert lines[0].startswith("/* ")


@pytest.mark.parametrize("path", [path for path in SHEETS if path != BASE], ids=by_name)
def test_what_the_base_sheet_says_is_said_nowhere_else(path: Path) -> None:
    assert said_in(path) & said_in(BASE) == set()


def said_in(path: Path) -> set[tuple[str, str]]:
    """Every declaration of a sheet with each selector that it is for."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    return {
        (selector.strip(), " ".join(declaration.split()))
        for selectors, block in re.findall(r"([^{}]+)\{([^{}]*)\}", text)
        for selector in selectors.split(",")
        for declaration in block.split(";")
        if declaration.strip()
    }


def test_that_check_finds_what_is_said_twice(tmp_path: Path) -> None:
    again = tmp_path / "again.css"
    again.write_text("a,\nbutton {\n  color: red;\n  cursor: pointer;\n}\n")

    assert said_in(again) & said_in(BASE) == {("button", "cursor: pointer")}
