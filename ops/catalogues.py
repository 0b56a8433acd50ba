"""Collects the texts of all pages, and reads, writes and compiles their catalogues. Needs no settings.

A catalogue is a gettext file, `locale/LANGUAGE/LC_MESSAGES/django.po`, with the compiled `.mo` committed beside it, so
that a fresh clone needs no gettext of the system. English is in the templates themselves.

One catalogue holds the texts of participants' pages and those of staff pages. The files that name a text tell the two
apart: see `is_for_participants`. A text with a plural is kept as gettext compiles it: its forms, joined by NUL.
"""

import ast
import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "templates"
PAGES = (*sorted(TEMPLATES.glob("*.html")), *sorted((TEMPLATES / "companion").glob("*.html")))
"""The templates of participants' pages."""
REPORTS = {
    "_export_lines.html",
    "_plot.html",
    "drill_report.html",
    "export_foot.html",
    "export_head.html",
    "growth_report.html",
    "load_report.html",
    "ordeal_report.html",
    "report.html",
}
"""Templates of files that commands write. Like the output of commands, they are English and in no catalogue."""
STAFF_PAGES = tuple(path for path in sorted((TEMPLATES / "ops").glob("*.html")) if path.name not in REPORTS)
"""The templates of staff pages."""
ROOMS = (ROOT / "companion", ROOT / "ops")
"""The packages whose Python may name texts of pages."""
OF_STAFF = ("ops/", "templates/ops/")
"""Where the texts of staff pages are named."""
PLURAL = "\0"
"""Stands between the forms of a text."""
TRANSLATING = {"django.utils.translation", "ops.catalogue_marks"}
"""The modules whose functions take a text of the catalogue."""
_STRING = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_NAMED = re.compile(rf"(?:\bgettext|\b_)\(u?{_STRING}")
_COUNTED = re.compile(rf"\bngettext\(u?{_STRING}, u?{_STRING}")
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


def is_for_participants(places: Iterable[str]) -> bool:
    """Return whether participants meet a text that these files name: every language must have it."""
    return any(not place.startswith(OF_STAFF) for place in places)


def _collect_from_templates() -> Iterator[tuple[str, Path]]:
    for path in (*PAGES, *STAFF_PAGES):
        source = templatize(path.read_text(encoding="utf-8"))
        for written in _NAMED.findall(source):
            yield ast.literal_eval(written), path
        for forms in _COUNTED.findall(source):
            yield PLURAL.join(map(ast.literal_eval, forms)), path


def _collect_from_python() -> Iterator[tuple[str, Path]]:
    for room in ROOMS:
        for path in sorted(room.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "gettext" in text:
                for named in find_named(ast.parse(text)):
                    yield named, path


def find_named(module: ast.Module) -> Iterator[str]:
    """The texts that a module gives to functions that translate or mark, under whatever name it has them."""
    names = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module in TRANSLATING
        for alias in node.names
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = names.get(node.func.id, "")
            texts = [
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            ]
            if function.startswith("ngettext") and len(texts) == 2:
                yield PLURAL.join(texts)
            elif function.startswith("gettext"):
                yield from texts


def catalogue_path(language: str) -> Path:
    """Return where the catalogue of a language stands."""
    return ROOT / "locale" / language / "LC_MESSAGES" / "django.po"


def read_catalogue(path: Path) -> dict[str, str]:
    """Return the translations of a `.po` file by text, without its header. Raises OSError, SyntaxError, ValueError."""
    entries: dict[str, str] = {}
    keyword = ""
    parts: defaultdict[str, str] = defaultdict(str)
    for line in [*path.read_text(encoding="utf-8").splitlines(), "msgid"]:
        first, _, rest = line.partition(" ")
        if first == "msgid":
            if parts.get("msgid"):
                entries[_join(parts, "msgid")] = _join(parts, "msgstr")
            parts = defaultdict(str)
        if first.startswith("msg"):
            keyword, quoted = first, rest
        elif line.startswith('"'):
            quoted = line
        else:
            continue
        parts[keyword] += ast.literal_eval(quoted) if quoted else ""
    return entries


def _join(parts: Mapping[str, str], name: str) -> str:
    """The forms of a text or of its translation; empty for a translation that lacks one."""
    forms = [text for keyword, text in parts.items() if keyword.startswith(name)]
    return PLURAL.join(forms) if all(forms) else ""


def read_for_participants(language: str) -> dict[str, str]:
    """Return the translations of the texts that participants meet, by text. Raises as `read_catalogue` does."""
    texts = collect_texts()
    translations = read_catalogue(catalogue_path(language))
    return {text: says for text, says in translations.items() if is_for_participants(texts.get(text, ()))}


def write_catalogue(path: Path, texts: Mapping[str, list[str]], translations: Mapping[str, str]) -> None:
    """Write the `.po` file: every text, with its translation or an empty one."""
    blocks = [f'msgid ""\nmsgstr {_quote(_HEADER)}\n']
    blocks += [
        f"#: {' '.join(places)}\n{_write_entry(text, translations.get(text, ''))}"
        for text, places in sorted(texts.items())
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(blocks), encoding="utf-8")


def _write_entry(text: str, translation: str) -> str:
    one, *many = text.split(PLURAL)
    if not many:
        return f"msgid {_quote(one)}\nmsgstr {_quote(translation)}\n"
    lines = [f"msgid {_quote(one)}", f"msgid_plural {_quote(many[0])}"]
    forms = translation.split(PLURAL) if translation else ["", ""]
    lines += [f"msgstr[{number}] {_quote(form)}" for number, form in enumerate(forms)]
    return "\n".join(lines) + "\n"


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
