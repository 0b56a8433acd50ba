"""Every figure and drafted line that turns run by. Built once at start and passed down."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

LEASE_S = 10.0
"""A process without a heartbeat for so long counts as gone: the sweep pauses its turns, and no sum counts it."""


class DraftedLines(Protocol):
    """The drafted lines that the companion shows. The `lines` of a persona satisfy this protocol."""

    @property
    def goodbye(self) -> str: ...
    @property
    def pause(self) -> str: ...
    @property
    def i_am_back(self) -> str: ...
    @property
    def queued(self) -> str: ...
    @property
    def still_here(self) -> str: ...
    @property
    def shortened(self) -> str: ...
    @property
    def try_again(self) -> str: ...
    @property
    def reduced(self) -> str: ...
    @property
    def stopped(self) -> str: ...
    @property
    def taken_back(self) -> str: ...
    @property
    def nothing_written(self) -> str: ...
    @property
    def declined(self) -> str: ...
    @property
    def kept(self) -> str: ...
    @property
    def ask_again_later(self) -> str: ...
    @property
    def unanswerable(self) -> str: ...
    @property
    def too_long(self) -> str: ...
    @property
    def not_understood(self) -> str: ...
    @property
    def not_allowed(self) -> str: ...
    @property
    def one_at_a_time(self) -> str: ...
    @property
    def too_many_pages(self) -> str: ...
    @property
    def safety_told(self) -> str: ...
    @property
    def safety_untold(self) -> str: ...
    @property
    def safety_no_number(self) -> str: ...
    @property
    def person_joins(self) -> str: ...
    @property
    def person_leaves(self) -> str: ...
    @property
    def person_lost(self) -> str: ...
    @property
    def person_writing(self) -> str: ...
    @property
    def help_told(self) -> str: ...
    @property
    def help_untold(self) -> str: ...
    @property
    def help_no_number(self) -> str: ...
    @property
    def help_told_outside(self) -> str: ...
    @property
    def help_untold_outside(self) -> str: ...
    @property
    def help_no_number_outside(self) -> str: ...
    @property
    def or_text(self) -> str: ...
    @property
    def held_quiet(self) -> str: ...
    @property
    def staff_pause_person(self) -> str: ...
    @property
    def staff_pause_site(self) -> str: ...
    @property
    def staff_pause_over(self) -> str: ...
    @property
    def disclosure(self) -> str: ...
    @property
    def asked_if_person(self) -> str: ...
    @property
    def reading_along(self) -> str: ...
    @property
    def instruction_held(self) -> str: ...
    @property
    def instruction_care(self) -> str: ...
    @property
    def instruction_person(self) -> str: ...
    @property
    def instruction_easy(self) -> str: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class CharacterTexts:
    """The character in one language."""

    lines: DraftedLines
    character: str
    """The character's name."""
    system_prompt: str
    persona_version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnPolicy(CharacterTexts):
    """The figures of one process, and its texts in the first language of the character. Times in seconds."""

    language: str = "en"
    """The language of these texts."""
    translations: Mapping[str, CharacterTexts] = field(default_factory=lambda: MappingProxyType({}))
    """The texts in every language of the character, this one too."""
    ceiling: int
    wait_ceiling_s: float
    hold_s: float
    keep_s: float
    """Time from the end of its turn during which an unanswered question is offered back, once its hold is over."""
    turn_budget_s: float
    """Time to the first word of a reply, over all attempts. The lane bounds the time of the reply itself."""
    attempts: int
    still_here_s: float = 6.0
    """Time without a word after which an admitted turn shows the *still here* line."""
    lease_s: float = LEASE_S
    """A process whose heartbeat is older has lost its turns."""
    beat_s: float = 1.0
    tick_s: float = 0.04
    """The tick of the journal: words wait at most this long before they are stored and shown."""
    store_within_s: float = 2.0
    """A flush that takes longer shows nothing, and its turns pause."""
    live_turns_per_person: int = 3
    """Live turns of one person, so that no person fills the waiting room alone."""
    messages_per_minute: int = 20
    """Messages of one person in a minute."""
    pages_per_person: int = 20
    """Open sockets of one person on one process, over all visits."""
    pages_per_address: int = 1_000
    """Open sockets from one address on one process. All people of a site may share one address."""
    unanswered_per_minute: int = 60
    """Messages of one person in a minute that the companion does not answer: red ones, and those to a person."""
    decide_s: float = 1.0
    """Time in which a screen of the site's staff must show a flag, so that the line says that staff were told."""
    person_lease_s: float = 15.0
    """A member of staff whose screen has not shown the conversation for so long has lost the take-over."""
    away_s: float = 60.0
    """A person without an open page for so long gives up the place in the waiting room."""
    grace_s: float = 8.0
    """Time that running turns have to finish after the process was told to leave."""

    def in_language(self, language: str) -> CharacterTexts:
        """Return the texts in a language; those in the first where the character has none in it."""
        return self.translations.get(language, self)

    def by_language(self, name: str) -> str:
        """Return a drafted line in every language as JSON, for `languages.line_in`."""
        return self._to_json(lambda texts: str(getattr(texts.lines, name)))

    def versions_by_language(self) -> str:
        """Return the version of the character's file in every language in the same way."""
        return self._to_json(lambda texts: texts.persona_version)

    def _to_json(self, read: Callable[[CharacterTexts], str]) -> str:
        found = {language: read(texts) for language, texts in self.translations.items()}
        return json.dumps({**found, FIRST: read(self)}, ensure_ascii=False)

    def list_versions(self) -> list[str]:
        """Return the version of the character's file in each language, the first one first."""
        others = (texts.persona_version for texts in self.translations.values())
        return list(dict.fromkeys([self.persona_version, *others]))

    @property
    def character_version(self) -> str:
        """One version for the files of all languages, by which processes are compared."""
        versions = self.list_versions()
        joined = "\n".join(versions)
        return versions[0] if len(versions) == 1 else hashlib.sha256(joined.encode()).hexdigest()[:16]


FIRST = ""
"""Stands for the first language of the character in what `by_language` returns."""
