"""Collects the texts of participants' pages, and reads, writes and compiles their catalogues. Needs no settings.

A catalogue is a gettext file, `locale/LANGUAGE/LC_MESSAGES/django.po`, with the compiled `.mo` committed beside it, so
that a fresh clone needs no gettext of the system. English is in the templates themselves.
"""

import ast
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "templates"
PAGES = (*sorted(TEMPLATES.glob("*.html")), *sorted((TEMPLATES / "companion").glob("*.html")))
"""The templates of participants' pages."""
ROOMS = (ROOT / "companion",)
"""The packages whose Python may name texts of pages."""
_NAMED = re.compile(r"""(?:\bgettext|\b_)\(u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_HEADER = "Content-Type: text/plain; charset=UTF-8\n"
_MO_MAGIC = 0x950412DE


def collect_texts() -> dict[str, list[str]]:
    """Return the texts that pages show, each with the files that name it, in their order."""
    texts: dict[str, list[str]] = {}
    for text, path in [*_collect_from_templates(), *_collect_from_python()]:
        places = texts.setdefault(text, [])
        name = str(path.relative_to(ROOT))
        if name not in places:
            places.append(name)
    return texts


def _collect_from_templates() -> Iterator[tuple[str, Path]]:
    for path in PAGES:
        for written in _NAMED.findall(templatize(path.read_text(encoding="utf-8"))):
            yield ast.literal_eval(written), path


def _collect_from_python() -> Iterator[tuple[str, Path]]:
    for room in ROOMS:
        for path in sorted(room.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "gettext" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "").startswith("gettext"):
                    for argument in node.args:
                        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                            yield argument.value, path


def catalogue_path(language: str) -> Path:
    """Return where the catalogue of a language stands."""
    return ROOT / "locale" / language / "LC_MESSAGES" / "django.po"


def read_catalogue(path: Path) -> dict[str, str]:
    """Return the translations of a `.po` file by text, without its header. Raises OSError, SyntaxError, ValueError."""
    entries: dict[str, str] = {}
    part, pieces = "", {"msgid": "", "msgstr": ""}
    for line in [*path.read_text(encoding="utf-8").splitlines(), "msgid"]:
        keyword, _, rest = line.partition(" ")
        if keyword == "msgid":
            if pieces["msgid"]:
                entries[pieces["msgid"]] = pieces["msgstr"]
            pieces = {"msgid": "", "msgstr": ""}
        if keyword in pieces:
            part, quoted = keyword, rest
        elif line.startswith('"'):
            quoted = line
        else:
            continue
        pieces[part] += ast.literal_eval(quoted) if quoted else ""
    return entries


def write_catalogue(path: Path, texts: Mapping[str, list[str]], translations: Mapping[str, str]) -> None:
    """Write the `.po` file: every text, with its translation or an empty one."""
    blocks = [f'msgid ""\nmsgstr {_quote(_HEADER)}\n']
    blocks += [
        f"#: {' '.join(places)}\nmsgid {_quote(text)}\nmsgstr {_quote(translations.get(text, ''))}\n"
        for text, places in sorted(texts.items())
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(blocks), encoding="utf-8")


def compile_catalogue(translations: Mapping[str, str]) -> bytes:
    """Return the `.mo` file: the format of GNU gettext, without a hash table. Untranslated texts are left out."""
    entries = sorted({"": _HEADER, **translations}.items())
    entries = [(text, translation) for text, translation in entries if translation]
    start = 28 + 16 * len(entries)
    texts, translated = b"", b""
    keys, values = [], []
    for text, _ in entries:
        encoded = text.encode()
        keys.append((len(encoded), start + len(texts)))
        texts += encoded + b"\0"
    for _, translation in entries:
        encoded = translation.encode()
        values.append((len(encoded), start + len(texts) + len(translated)))
        translated += encoded + b"\0"
    head = struct.pack("<7I", _MO_MAGIC, 0, len(entries), 28, 28 + 8 * len(entries), 0, 0)
    tables = b"".join(struct.pack("<2I", *pair) for pair in [*keys, *values])
    return head + tables + texts + translated


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
