"""PURE. The rules of several languages as one: people mix languages, so each message is read in all of them."""

import hashlib
from collections.abc import Sequence

from personas.safety.findings import Finding, ReplyFinding
from personas.safety.language import SafetyRules
from personas.safety.replies import ReplyReader


class SeveralRules:
    """Reads with the rules of each language and reports the most serious finding."""

    def __init__(self, languages: Sequence[str], rules: Sequence[SafetyRules]) -> None:
        self._rules = rules
        versions = "\n".join(one.version for one in rules)
        self.version = f"{'+'.join(languages)}-{hashlib.sha256(versions.encode()).hexdigest()}"[:16]
        """The languages, and what tells these versions of their files from others."""

    def read_message(self, text: str) -> Finding:
        """Return the most serious finding; among equals that of the first language, or one about staff."""
        findings = [rules.read_message(text) for rules in self._rules]
        return max(findings, key=lambda finding: (finding.tier, finding.about_staff))

    def asks_if_human(self, text: str) -> bool:
        """Whether a participant asks if they are talking to a person."""
        return any(rules.asks_if_human(text) for rules in self._rules)

    def is_farewell(self, text: str) -> bool:
        """Whether a participant takes leave and says nothing else but thanks."""
        return any(rules.is_farewell(text) for rules in self._rules) and not self._is_barred(text)

    def ends_with_farewell(self, text: str) -> bool:
        """Whether a participant takes leave in the last sentence, whatever stands before it."""
        return any(rules.ends_with_farewell(text) for rules in self._rules) and not self._is_barred(text)

    def _is_barred(self, text: str) -> bool:
        # The words of one language say nothing of what stands beside them in another ("Adiós, perdóname").
        return any(rules.bars_farewell(text) for rules in self._rules)

    def reply_reader(self) -> "SeveralReplyReaders":
        """Return a reader for one reply that comes in pieces."""
        return SeveralReplyReaders([rules.reply_reader() for rules in self._rules])


class SeveralReplyReaders:
    """Reads one reply with the rules of each language."""

    def __init__(self, readers: Sequence[ReplyReader]) -> None:
        self._readers = readers

    def feed(self, text: str) -> ReplyFinding | None:
        """Read on with every reader. Returns the first `stop` whose last word is finished."""
        found = [reader.feed(text) for reader in self._readers]
        return next((finding for finding in found if finding), None)

    def is_in_doubt(self) -> bool:
        """Whether the unfinished last word completes a stop in any language."""
        return any(reader.is_in_doubt() for reader in self._readers)

    def finish(self) -> ReplyFinding | None:
        """End the reply. Returns a stop if there was one, or else the first flag."""
        found = [finding for reader in self._readers if (finding := reader.finish())]
        return min(found, key=lambda finding: finding.severity != "stop", default=None)
