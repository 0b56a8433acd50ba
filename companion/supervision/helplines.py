"""PURE. The helpline of a site in its drafted lines. A site without a number gets the line that needs none."""

from dataclasses import dataclass
from typing import Protocol


class HelplineLines(Protocol):
    """The drafted lines with a place for a number, and those that stand in for them. A persona's `lines` satisfy it."""

    @property
    def safety_told(self) -> str: ...
    @property
    def safety_untold(self) -> str: ...
    @property
    def safety_no_number(self) -> str: ...
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


@dataclass(frozen=True, kw_only=True, slots=True)
class HelpAnswer:
    """The drafted answer to *Talk to a person*."""

    line: str
    """In the conversation. It says that the participant can keep writing."""
    outside: str
    """For a page on which nothing can be written, such as the locked page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Helpline:
    """The numbers of one site, as people read them: to call and to text. Either may be empty at an older site."""

    voice: str = ""
    text: str = ""

    def write_safety_line(self, lines: HelplineLines, *, is_told: bool) -> str:
        """The line of a red message. `is_told`: a screen of the site's staff has shown the flag."""
        return self._fill(
            lines.safety_told if is_told else lines.safety_untold, lines.safety_no_number, lines
        )

    def write_help_answer(self, lines: HelplineLines, *, is_told: bool) -> "HelpAnswer":
        """The answer to *Talk to a person*. `is_told`: as for a safety line."""
        line = lines.help_told if is_told else lines.help_untold
        outside = lines.help_told_outside if is_told else lines.help_untold_outside
        return HelpAnswer(
            line=self._fill(line, lines.help_no_number, lines),
            outside=self._fill(outside, lines.help_no_number_outside, lines),
        )

    def _fill(self, line: str, without: str, lines: HelplineLines) -> str:
        if "{helpline}" not in line:
            return line
        if not self.voice:
            return without
        # Not str.format: a number that was typed with braces must not break the line.
        numbers = f"{self.voice} {lines.or_text.replace('{number}', self.text)}" if self.text else self.voice
        return line.replace("{helpline}", numbers)
