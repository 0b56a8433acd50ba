"""The schema of a file of safety rules."""

import hashlib
import json
from datetime import date
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Sentence = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
Identifier = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z][a-z0-9_-]{1,60}$")]
KindName = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1, max_length=40)]
"""How staff read a kind in a list of flags: a few plain words, one line on a phone."""
Rows = Annotated[tuple[Sentence, ...], Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class MessageKind(_Table):
    """A kind of danger in what a participant writes."""

    name: KindName
    tier: Literal["red", "amber"]
    means: Sentence
    about_staff: bool = False
    past: Identifier | None = None
    """The kind that it is when it is over; None: then it is none."""


class ReplyKind(_Table):
    """A kind of fault in what the companion says."""

    name: KindName
    severity: Literal["stop", "flag"]
    means: Sentence


class PatternRule(_Table):
    """A rule: any of its patterns. `even_if` names contexts that do not take the danger out of it."""

    id: Identifier
    kind: Identifier
    why: Sentence
    even_if: tuple[Literal["negated", "story", "past", "everyday"], ...] = ()
    patterns: Rows


class ContextPatterns(_Table):
    """Patterns of the contexts, and the words that they rest on."""

    idioms: Rows
    stories: Rows
    past: Rows
    denials: Rows
    no_negation: Rows


class Reading(_Table):
    """A written word that means several words, but only before and not after certain others."""

    word: Sentence
    means: Sentence
    before: Sentence
    not_after: Sentence


class Weighing(_Table):
    """From which scores on the weighed words show the line, or raise a flag, and of which kind it is."""

    line_from: float
    flag_from: float
    pattern_line_from: float
    """A pattern for danger counts from this score for danger on."""
    pattern_flag_from: float
    """A pattern for concern counts from this score for concern on."""
    line_kind: Identifier
    line_kind_of_staff: Identifier
    """The kind where the message names one of the class `staff` of `alike`."""
    flag_kind: Identifier


class RulesFile(_Table):
    """One file of safety rules for one language."""

    language: Literal["en", "es"]
    owner: Sentence
    approver: Sentence
    approved_on: date | None = None
    review_by: date
    kinds: dict[Identifier, MessageKind] = Field(min_length=1)
    reply_kinds: dict[Identifier, ReplyKind] = Field(min_length=1)
    spellings: dict[str, Sentence]
    readings: tuple[Reading, ...]
    signs: dict[str, Sentence]
    words: dict[str, Sentence]
    weighing: Weighing | None = None
    """None: only patterns count."""
    alike: dict[Identifier, Sentence] | None = None
    """Classes of single words that weigh the same."""
    contexts: ContextPatterns
    rules: Annotated[tuple[PatternRule, ...], Field(min_length=1)]
    replies: Annotated[tuple[PatternRule, ...], Field(min_length=1)]
    asks_if_human: Rows
    goodbye: Rows
    no_goodbye: Rows
    courtesy: Rows
    second_reading: Sentence

    @cached_property
    def version(self) -> str:
        """The language and 12 hex digits of the SHA-256 of the content; comments and spacing do not change it."""
        content = self.model_dump(mode="json", exclude_none=True)
        canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return f"{self.language}-{hashlib.sha256(canonical.encode()).hexdigest()[:12]}"
