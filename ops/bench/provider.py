"""Sets the pace of a bench's rehearsal provider, and reads when each question reached it."""

from ops.bench.plan import WORDS, BenchLoad
from ops.testbed.rehearsal_provider import RehearsalProvider


def set_pace(provider: RehearsalProvider, load: BenchLoad) -> None:
    """Answer at this load's pace from now on; each word is the moment it is sent."""
    provider.clear_faults()
    provider.order_fault(
        {
            "stamp": True,
            "words": WORDS,
            "pace_ms": load.pace_ms,
            "first_word_s": load.first_word_ms / 1000,
        }
    )


def read_starts(provider: RehearsalProvider) -> dict[str, float]:
    """When each question arrived, in seconds of the machine's monotonic clock."""
    # A prompt may contain earlier questions; the new one is its last paragraph.
    return {
        request["messages"][-1]["content"].rsplit("\n\n", 1)[-1]: request["started"]
        for request in provider.read_requests()
    }
