"""PURE. Applies the wording rules to the texts of participants' pages outside the drafted lines."""

import re
from collections.abc import Iterable
from html.parser import HTMLParser

from personas.wording import LintFinding, lint_line

_TRANSLATED = re.compile(r'\{%\s*translate\s+"([^"]*)"[^%]*%\}')
_TEMPLATE_TAG = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.S)
_TEMPLATE_VALUE = re.compile(r"\{\{.*?\}\}", re.S)
_CATALOGUE_VALUE = re.compile(r"%\(\w+\)s|\{\w+\}")
_SPOKEN_ATTRIBUTES = {"aria-label", "placeholder", "title", "alt"}
_UNSEEN = {"script", "style"}
# Tags inside a sentence. Every other tag ends it.
_INLINE = {"a", "abbr", "b", "bdi", "em", "i", "q", "small", "span", "strong"}


def lint_page(name: str, html: str, language: str = "en") -> list[LintFinding]:
    """Every breach of the wording rules in a page or template. `name` is the key of each finding."""
    reader = _Reader()
    reader.feed(_TEMPLATE_VALUE.sub("Robin", _TEMPLATE_TAG.sub("", _TRANSLATED.sub(r"\1", html))))
    reader.close()
    return [finding for text in reader.texts() for finding in lint_line(name, text, language)]


def lint_texts(language: str, texts: Iterable[str]) -> list[LintFinding]:
    """Every breach of the wording rules in texts of a catalogue. The key of each finding is the language."""
    return [
        finding
        for text in texts
        for finding in lint_line(language, _CATALOGUE_VALUE.sub("Robin", text), language)
    ]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[str] = [""]
        self._spoken: list[str] = []
        self._unseen = 0

    def texts(self) -> list[str]:
        everything = (" ".join(text.split()) for text in [*self._blocks, *self._spoken])
        return [text for text in everything if text]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._spoken += [value for name, value in attrs if value and name in _SPOKEN_ATTRIBUTES]
        self._boundary(tag)
        self._unseen += tag in _UNSEEN

    def handle_endtag(self, tag: str) -> None:
        self._boundary(tag)
        self._unseen -= tag in _UNSEEN

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._blocks[-1] += data

    def _boundary(self, tag: str) -> None:
        if tag not in _INLINE:
            self._blocks.append("")
