"""Rules for tests: a message or reply is noticed by the words `red`, `amber`, `stop` and `flag` in brackets."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the rules report."""

    tier: int = 0
    severity: str = ""
    rule: str = ""
    kind: str = ""
    about_staff: bool = False
    broken: bool = False


class BracketReader:
    """Reads one reply."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, text: str) -> Report | None:
        self.text += text
        return Report(severity="stop", rule="stop-1", kind="medicine") if "[stop]" in self.text else None

    def is_in_doubt(self) -> bool:
        return False

    def finish(self) -> Report | None:
        return Report(severity="flag", rule="flag-1", kind="love") if "[flag]" in self.text else None


class BracketRules:
    """Reads messages. `[break]` raises, as no rule should."""

    version = "test-rules"

    def read_message(self, text: str) -> Report:
        if "[break]" in text:
            raise ValueError(text)
        if "[red]" in text:
            return Report(tier=2, rule="red-1", kind="self_harm", about_staff="[staff]" in text)
        if "[amber]" in text:
            return Report(tier=1, rule="amber-1", kind="low_mood")
        return Report(broken="[broken]" in text, rule="broken" if "[broken]" in text else "")

    def asks_if_human(self, text: str) -> bool:
        return "[human?]" in text

    def is_farewell(self, text: str) -> bool:
        return "[bye]" in text

    def ends_with_farewell(self, text: str) -> bool:
        return text.endswith("[bye]")

    def reply_reader(self) -> BracketReader:
        return BracketReader()
