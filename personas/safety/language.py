"""The rules of one language: what they find in messages and replies."""

from personas.safety.compiling import CompiledRules
from personas.safety.farewells import FarewellReader
from personas.safety.findings import Finding, ReplyFinding
from personas.safety.replies import ReplyReader
from personas.safety.rules import Explanation, MessageReader, PhraseReader
from personas.safety.schema import RulesFile


class SafetyRules:
    """The rules of one language. Reading never raises and keeps no text."""

    def __init__(self, document: RulesFile, compiled: CompiledRules) -> None:
        weighed = compiled.weighed
        self.version = f"{document.version}-{weighed.version}" if weighed else document.version
        self.owner, self.approver, self.review_by = document.owner, document.approver, document.review_by
        self.second_reading = document.second_reading
        self._messages = MessageReader(
            compiled.tokenizer,
            compiled.message_rules,
            compiled.messages,
            compiled.contexts,
            weighed,
        )
        self._tokenizer, self._features = compiled.tokenizer, compiled.features
        self._replies = compiled.replies
        self._human = PhraseReader(compiled.tokenizer, compiled.human)
        self._farewells = FarewellReader(
            goodbye=PhraseReader(compiled.tokenizer, compiled.goodbye),
            no_goodbye=PhraseReader(compiled.tokenizer, compiled.no_goodbye),
            courtesy=PhraseReader(compiled.tokenizer, compiled.courtesy),
        )

    def read_message(self, text: str) -> Finding:
        """Return the most serious finding in what a participant wrote. A rule that breaks counts as amber."""
        return self._messages.read(text)

    def explain_message(self, text: str) -> list[Explanation]:
        """Return every match with its pattern and what guards it, the most serious first."""
        return self._messages.explain(text)

    def read_features(self, text: str) -> set[str]:
        """Return what is weighed in a text."""
        return self._features.read(self._tokenizer.read(text))

    def reply_reader(self) -> ReplyReader:
        """Return a reader for one reply that comes in pieces."""
        return ReplyReader(self._replies)

    def read_reply(self, text: str, start: int = 0) -> ReplyFinding | None:
        """Return a finding in a reply: a stop before a flag. What ends before character `start` was read earlier."""
        reader = self.reply_reader()
        if text[start : start + 1].isalnum():
            # A word that goes on is read as a whole.
            start = text.rfind(" ", 0, start) + 1
        if start:
            reader.skip(text[:start])
        return reader.feed(text[start:]) or reader.finish()

    def asks_if_human(self, text: str) -> bool:
        """Whether a participant asks if they are talking to a person."""
        return self._human.matches(text)

    def is_farewell(self, text: str) -> bool:
        """Whether a participant takes leave and says nothing else but thanks."""
        return self._farewells.is_whole(text)

    def bars_farewell(self, text: str) -> bool:
        """Whether a word of `no_goodbye` stands in the text."""
        return self._farewells.is_barred(text)

    def ends_with_farewell(self, text: str) -> bool:
        """Whether a participant takes leave in the last sentence, whatever stands before it."""
        return self._farewells.is_at_end(text)
