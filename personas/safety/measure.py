"""PURE. Measures the rules on a labelled set: recall of red, recall of amber or red, false alarms, and speed."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from personas.safety.findings import Finding, Tier

LONG_CHARACTERS = 4000


class LabelledMessage(BaseModel):
    """One sentence of a labelled set. `kind` of a harmless one names the trap that it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    text: str
    tier: str
    kind: str
    person: str

    @property
    def expected(self) -> Tier:
        """The tier as a number."""
        return Tier[self.tier.upper()]


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """`hits` of `total`, for one figure."""

    hits: int
    total: int

    @property
    def percent(self) -> float:
        """In percent; 100 where there is nothing to count."""
        return 100 * self.hits / self.total if self.total else 100.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SafetyFigures:
    """The figures of one set. `line_shown`: red messages found red, on which the safety line is shown."""

    line_shown: Share
    noticed: Share
    """Red and amber messages found amber or red."""
    false_lines: Share
    """Harmless messages on which the safety line would be shown."""
    false_alarms: Share
    """Harmless messages found amber or red."""
    missed_by_kind: dict[str, Share]
    false_by_kind: dict[str, Share]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpeedFigures:
    """Milliseconds at the 95th percentile, and how many times a plain split of the same text takes."""

    usual_ms: float
    usual_ratio: float
    long_ms: float
    long_ratio: float


def read_set(path: Path) -> list[LabelledMessage]:
    """Read a labelled set, one JSON object a line. Raises ValueError with the line that is wrong."""
    messages = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                messages.append(LabelledMessage.model_validate(json.loads(line)))
            except ValueError:
                raise ValueError(f"{path}, line {number}: is not a labelled message") from None
    return messages


def measure(read: Callable[[str], Finding], messages: Iterable[LabelledMessage]) -> SafetyFigures:
    """Read every message and count."""
    counts: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    false: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    harmless_kinds: Counter[str] = Counter()
    for message in messages:
        found = read(message.text).tier
        expected = message.expected
        counts[message.tier] += 1
        if expected is Tier.NONE:
            harmless_kinds[message.kind] += 1
            counts["false_lines"] += found is Tier.RED
            counts["false_alarms"] += found > Tier.NONE
            false[message.kind] += found > Tier.NONE
            continue
        kinds[message.kind] += 1
        counts["noticed"] += found > Tier.NONE
        counts["line_shown"] += expected is Tier.RED and found is Tier.RED
        missed[message.kind] += found < expected
    return SafetyFigures(
        line_shown=Share(hits=counts["line_shown"], total=counts["red"]),
        noticed=Share(hits=counts["noticed"], total=counts["red"] + counts["amber"]),
        false_lines=Share(hits=counts["false_lines"], total=counts["none"]),
        false_alarms=Share(hits=counts["false_alarms"], total=counts["none"]),
        missed_by_kind={kind: Share(hits=missed[kind], total=total) for kind, total in sorted(kinds.items())},
        false_by_kind={
            kind: Share(hits=false[kind], total=total) for kind, total in sorted(harmless_kinds.items())
        },
    )


def measure_speed(read: Callable[[str], Finding], messages: Sequence[LabelledMessage]) -> SpeedFigures:
    """Time usual messages and texts of 4,000 characters, beside a plain split of the same texts in the same run."""
    usual = [message.text for message in messages]
    joined = " ".join(usual)
    long = [
        joined[start : start + LONG_CHARACTERS] for start in range(0, len(joined) - LONG_CHARACTERS, 2000)
    ]
    usual_ms, usual_ratio = _time(read, usual)
    long_ms, long_ratio = _time(read, long)
    return SpeedFigures(usual_ms=usual_ms, usual_ratio=usual_ratio, long_ms=long_ms, long_ratio=long_ratio)


def _time(read: Callable[[str], Finding], texts: Sequence[str]) -> tuple[float, float]:
    """Return the 95th percentile of the quickest of three readings of each text, and its ratio to a plain split."""
    taken = sorted(min(_seconds(read, text) for _ in range(3)) for text in texts)
    plain = sorted(min(_seconds(_split, text) for _ in range(3)) for text in texts)
    place = min(len(taken) - 1, int(len(taken) * 0.95))
    return taken[place] * 1000, taken[place] / max(plain[place], 1e-9)


def _split(text: str) -> list[str]:
    return text.lower().split()


def _seconds(call: Callable[[str], object], text: str) -> float:
    began = time.perf_counter()
    call(text)
    return time.perf_counter() - began
