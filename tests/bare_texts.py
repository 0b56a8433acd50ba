"""Finds texts of templates and scripts that are shown and stand in no catalogue."""

import re

_TAGS = re.compile(r"\{%.*?%\}|\{#.*?#\}|\{\{.*?\}\}", re.S)
_MARKED = re.compile(r"\{% blocktranslate.*?endblocktranslate %\}", re.S)
_CONSTANT = re.compile(r"""(?:\|default(?:_if_none)?:|\badvice=|\blabel=)(?:"([^"]*)"|'([^']*)')""")
_COUNTED = re.compile(r"\|(?:pluralize|yesno)\b[^}]*")
_SPOKEN = re.compile(r'\b(?:aria-label|aria-description|placeholder|title|alt)="([^"]*)"')
_UNSEEN = re.compile(r"<(script|style|svg)\b.*?</\1>", re.S)
_WORD = re.compile(r"[A-Za-zÁ-ú]{2,}")
_ELEMENT = re.compile(r"""<(?:"[^"]*"|'[^']*'|[^<>"'])*>""")

_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\w])//[^\n]*", re.S)
_STRING = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""")
_PLACE = re.compile(r"\$\{[^}]*\}")
# Two words side by side, a word with a capital or a full stop, or a part of a sentence after a comma.
_SENTENCE = re.compile(r"[A-Za-z]{2,}[,;:.]? [a-z]{2,}|^[A-Z][a-z]+[.?!]?$|^[,;·] ?[a-z]{2,}|\b[a-z]{2,} $")
# Selectors, media queries and paths of drawings, and names of keys: no text.
_CODE = re.compile(r"[\[\]#>=]|^use |^\w+\.\w+$")
KEYS = {"Enter", "Escape"}


def find_bare_texts(template: str) -> list[str]:
    """The texts of a template that are shown or spoken, and that no tag gives to the catalogue."""
    source = _ELEMENT.sub(_keep_spoken, _UNSEEN.sub("", _MARKED.sub("", template)))
    tags = [tag for tag in _TAGS.findall(source) if not tag.startswith("{#")]
    constants = [one or other for tag in tags for one, other in _CONSTANT.findall(tag)]
    counted = [found for tag in tags for found in _COUNTED.findall(tag)]
    seen = [" ".join(text.split()) for text in re.split(r"<[^>]*>", _TAGS.sub("", source))]
    return [text for text in (*seen, *constants, *counted) if _WORD.search(text)]


def _keep_spoken(element: re.Match[str]) -> str:
    """The element without its attributes, and what it is called aloud as a text beside it."""
    return "<>" + "".join(f"{text}<>" for text in _SPOKEN.findall(element[0]))


def find_script_texts(script: str) -> list[str]:
    """The strings of a script that look like something a person reads."""
    strings = [_PLACE.sub("", text) for _, text in _STRING.findall(_COMMENT.sub("", script))]
    return [
        text for text in strings if _SENTENCE.search(text) and not _CODE.search(text) and text not in KEYS
    ]
