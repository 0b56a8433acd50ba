"""PURE. What was measured, for people to read."""

from collections.abc import Iterator, Mapping, Sequence

from ops.bench.figures import Figures
from ops.bench.run import Findings
from ops.bench.verdicts import Verdict

HEAD = ("", "first word p50/p95", "per word p50/p95", "CPU/reply", "database", "client", "answered")


def lines(findings: Findings, found: Sequence[Verdict]) -> Iterator[str]:
    """Times in milliseconds, added to what the provider itself takes; CPU in milliseconds a reply."""
    yield "Added to the provider's own time, in ms; CPU in ms for each reply of 80 words."
    for title, figures in findings.loads.items():
        yield ""
        yield title
        yield from _grid([HEAD, *(_row(name, one) for name, one in figures.items())])
    yield ""
    yield from _sockets(findings)
    yield from _memory(findings.memory)
    average = ", ".join(f"{one:.1f}" for one in findings.load_average)
    yield f"Load average of the machine at the start and the end: {average}"
    yield ""
    yield "Targets, each against what the same run measured:"
    yield from _grid([(_verdict(one), one.what, f"{_number(one)} (at most {one.limit:g})") for one in found])


def unanswered(findings: Findings) -> int:
    """How many questions had no whole reply."""
    every = [one for figures in findings.loads.values() for one in figures.values()]
    return sum(one.asked - one.answered for one in every)


def _row(name: str, one: Figures) -> tuple[str, ...]:
    return (
        name,
        f"{one.first_p50:.1f} / {one.first_p95:.1f}",
        f"{one.word_p50:.1f} / {one.word_p95:.1f}",
        _maybe(one.cpu),
        _maybe(one.database_cpu),
        _maybe(one.client_cpu),
        f"{one.answered}/{one.asked}",
    )


def _maybe(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _sockets(findings: Findings) -> Iterator[str]:
    if sockets := findings.sockets:
        a_megabyte = 1_000_000 / sockets.bytes_each if sockets.bytes_each > 0 else float("inf")
        yield (
            f"Sockets: {sockets.opened} opened at once, {sockets.per_second:.0f} connects/s, "
            f"{sockets.bytes_each / 1000:.1f} kB each, {a_megabyte:.0f} a MB"
        )


def _memory(memory: Mapping[str, int]) -> Iterator[str]:
    for when, held in memory.items():
        yield f"Memory of the web process, {when}: {held / 1_000_000:.0f} MB"


def _verdict(one: Verdict) -> str:
    return "met" if one.met else "not met"


def _number(one: Verdict) -> str:
    return f"{one.measured:.2f} {one.unit}".rstrip()


def _grid(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        yield ("  " + "  ".join(cells)).rstrip()
