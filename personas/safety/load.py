"""Reads a file of safety rules and makes it ready, or reports the file, the key and the mend."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from personas.documents import read_document
from personas.errors import Problem, SafetyInvalid
from personas.safety.compiling import CompiledRules
from personas.safety.files import rules_path
from personas.safety.language import SafetyRules
from personas.safety.schema import RulesFile
from validation.phrases import Phrases, explain_error

_PHRASES: Phrases = {
    "extra_forbidden": ("is not a key of a file of safety rules", "take it out, or mend its spelling")
}


def load(language: str = "en") -> SafetyRules:
    """Load the rules that ship for a language, once in a process. Raises SafetyInvalid."""
    return _load_once(language)


@cache
def _load_once(language: str) -> SafetyRules:
    # Apart from `load`: a cache takes a call that names the default for another one, and would load English twice.
    return load_file(rules_path(language))


def name_kinds(language: str = "en") -> Mapping[str, str]:
    """What staff read for each kind of the rules that ship for a language, read once. Raises SafetyInvalid."""
    return _name_kinds_once(language)


@cache
def _name_kinds_once(language: str) -> Mapping[str, str]:
    document = _read_file(rules_path(language))
    of_messages = {kind: declared.name for kind, declared in document.kinds.items()}
    of_replies = {kind: declared.name for kind, declared in document.reply_kinds.items()}
    return MappingProxyType(of_messages | of_replies)


def load_file(path: Path) -> SafetyRules:
    """Load a file of safety rules. Raises SafetyInvalid unless it is complete and its patterns can be read.

    A pattern that matches an everyday sentence is refused too: the companion would be quiet for everyone.
    """
    document = _read_file(path)
    compiled = CompiledRules(path, document)
    if problems := compiled.lint_everyday():
        raise SafetyInvalid(path, tuple(problems))
    return SafetyRules(document, compiled)


def check_file(path: Path) -> SafetyRules:
    """Load a file of safety rules. Raises SafetyInvalid too if it does not pass its lint, which takes long."""
    document = _read_file(path)
    compiled = CompiledRules(path, document)
    if problems := compiled.lint():
        raise SafetyInvalid(path, tuple(problems))
    return SafetyRules(document, compiled)


def _read_file(path: Path) -> RulesFile:
    content = read_document(path, what="file of safety rules", refusal=SafetyInvalid)
    try:
        return RulesFile.model_validate(content)
    except ValidationError as refusal:
        problems = []
        for error in refusal.errors():
            told = explain_error(error, _PHRASES, mend="compare it with the file that ships")
            problems.append(Problem(key=told.key, fault=told.fault, mend=told.mend))
        raise SafetyInvalid(path, tuple(problems)) from None
