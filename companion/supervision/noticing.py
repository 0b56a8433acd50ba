"""Noticing: rules read each message before any provider, and each reply before it is shown. PURE.

The rules themselves are handed in by `ops.project.wiring`. What they report names rules, never words.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, TypeVar

from companion.supervision.causes import FlagCause
from companion.supervision.states import FlagSource, FlagTier

Result = TypeVar("Result")
log = logging.getLogger(__name__)

AMBER = 1
RED = 2
"""The tiers of what rules report; 0 is nothing."""
STOP = "stop"
"""The severity of a rule that ends a reply before its words are shown. The others flag it afterwards."""
BROKEN = "broken-rule"
MAX_KIND_CHARS, MAX_RULE_CHARS, MAX_VERSION_CHARS = 32, 64, 16


class MessageReport(Protocol):
    """What the rules report about a message."""

    @property
    def tier(self) -> int: ...
    @property
    def rule(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def about_staff(self) -> bool: ...
    @property
    def broken(self) -> bool: ...


class ReplyReport(Protocol):
    """What the rules report about a reply."""

    @property
    def severity(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def broken(self) -> bool: ...


class ReplyRules(Protocol):
    """Reads one reply, piece by piece. `feed` returns a rule of severity `stop` as soon as its words are there."""

    def feed(self, text: str) -> ReplyReport | None: ...
    def is_in_doubt(self) -> bool: ...
    def finish(self) -> ReplyReport | None: ...


class NoticingRules(Protocol):
    """The rules of one reviewed, versioned file."""

    @property
    def version(self) -> str: ...
    def read_message(self, text: str) -> MessageReport: ...
    def asks_if_human(self, text: str) -> bool: ...
    def is_farewell(self, text: str) -> bool: ...
    def ends_with_farewell(self, text: str) -> bool: ...
    def reply_reader(self) -> ReplyRules: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """A rule matched, or could not be applied, which counts as amber."""

    tier: FlagTier
    kind: str
    rule: str
    rules_version: str
    about_staff: bool = False

    def to_cause(self, source: FlagSource, *, conversation: int, turn: int) -> FlagCause:
        """The cause of its flag."""
        return FlagCause(
            conversation=conversation,
            tier=self.tier,
            kind=self.kind[:MAX_KIND_CHARS],
            source=source,
            rule=self.rule[:MAX_RULE_CHARS],
            rules_version=self.rules_version[:MAX_VERSION_CHARS],
            about_staff=self.about_staff,
            turn=turn,
        )


def _ignore(_rule: str) -> None:
    """Default for a callback."""


class Noticing:
    """Reads messages and replies. `on_broken` is given the name of a rule that could not be applied."""

    def __init__(
        self,
        rules: NoticingRules | None,
        *,
        translations: Mapping[str, NoticingRules] = MappingProxyType({}),
        on_broken: Callable[[str], None] = _ignore,
    ) -> None:
        """`translations` are the rules for people of other languages; each reads in the first language too."""
        self._rules = rules
        self._on_broken = on_broken
        self._others = {
            language: Noticing(one, on_broken=on_broken) for language, one in translations.items()
        }

    def in_language(self, language: str) -> "Noticing":
        """Return the noticing for a participant of a language; of one without rules of its own, this one."""
        return self._others.get(language, self)

    def read_message(self, text: str) -> Notice | None:
        """Return what the rules notice in a message. Never raises: what breaks is amber."""
        if self._rules is None:
            return None
        try:
            report = self._rules.read_message(text)
        except Exception as failure:
            # The class only: the text of an exception may quote a participant.
            log.error("noticing.broke cause=%s", type(failure).__name__)
            return self.make_broken()
        if report.broken:
            self._on_broken(report.rule)
        if report.tier < AMBER:
            return self.make_broken() if report.broken else None
        return Notice(
            tier=FlagTier.RED if report.tier >= RED else FlagTier.AMBER,
            kind=report.kind,
            rule=report.rule,
            rules_version=self._rules.version,
            about_staff=report.about_staff,
        )

    def asks_if_human(self, text: str) -> bool:
        """Whether a message asks if this is a person. Never raises: what breaks asks nothing."""
        return self._rules is not None and _ask(self._rules.asks_if_human, text)

    def is_farewell(self, text: str) -> bool:
        """Whether a message takes leave and says nothing else. Never raises: what breaks takes no leave."""
        return self._rules is not None and _ask(self._rules.is_farewell, text)

    def ends_with_farewell(self, text: str) -> bool:
        """Whether the last sentence of a message takes leave. Never raises, in the same way."""
        return self._rules is not None and _ask(self._rules.ends_with_farewell, text)

    def watch_reply(self) -> "ReplyWatch":
        """Watch one reply."""
        return ReplyWatch(self)

    def open_reply(self) -> ReplyRules | None:
        """Return a reader for one reply; None without rules."""
        return None if self._rules is None else self._rules.reply_reader()

    def notice_reply(self, report: ReplyReport) -> Notice:
        """Return the notice of what the rules report about a reply."""
        if report.broken:
            self._on_broken(report.rule)
        version = "" if self._rules is None else self._rules.version
        return Notice(tier=FlagTier.AMBER, kind=report.kind, rule=report.rule, rules_version=version)

    def make_broken(self) -> Notice:
        """Return the notice of rules that could not be applied."""
        version = "" if self._rules is None else self._rules.version
        self._on_broken(BROKEN)
        return Notice(tier=FlagTier.AMBER, kind=BROKEN, rule=BROKEN, rules_version=version)


class ReplyWatch:
    """Watches one reply. What breaks is reported once, at the end, and ends no reply."""

    def __init__(self, noticing: Noticing) -> None:
        self._noticing = noticing
        self._is_broken = False
        self._reader = self._guard(noticing.open_reply)

    def catch(self, text: str) -> Notice | None:
        """Read the next words. A notice: they complete what must not be shown, and are not to be stored."""
        reader = self._reader
        if reader is None:
            return None
        report = self._guard(lambda: reader.feed(text))
        if report is None or report.severity != STOP:
            return None
        self._reader = None
        return self._noticing.notice_reply(report)

    def is_in_doubt(self) -> bool:
        """Whether the last words must wait for the next: they may complete what must not be shown."""
        reader = self._reader
        return reader is not None and bool(self._guard(reader.is_in_doubt))

    def catch_end(self) -> Notice | None:
        """The reply is over, so its last word is finished. A notice: that word must not be shown."""
        reader = self._reader
        if reader is None:
            return None
        report = self._guard(reader.finish)
        if report is None or report.severity != STOP:
            return None
        self._reader = None
        return self._noticing.notice_reply(report)

    def finish(self) -> Notice | None:
        """Return what is to be flagged now that the reply is over; None after a catch."""
        reader, self._reader = self._reader, None
        report = None if reader is None else self._guard(reader.finish)
        if report is not None:
            return self._noticing.notice_reply(report)
        return self._noticing.make_broken() if self._is_broken else None

    def _guard(self, call: Callable[[], Result | None]) -> Result | None:
        try:
            return call()
        except Exception as failure:
            log.error("noticing.reply_broke cause=%s", type(failure).__name__)
            self._is_broken = True
            self._reader = None
            return None


def _ask(read: Callable[[str], bool], text: str) -> bool:
    try:
        return read(text)
    except Exception as failure:
        log.error("noticing.broke cause=%s", type(failure).__name__)
        return False
