"""PURE. The result of a bench as lines of text."""

from collections.abc import Iterator, Mapping, Sequence

from ops.bench.figures import RoundFigures
from ops.bench.plan import OURS
from ops.bench.run import BenchResult
from ops.bench.targets import BenchTarget

HEAD = ("", "first word p50/p95", "per word p50/p95", "CPU/reply", "database", "client", "answered")


def format_result(result: BenchResult, targets: Sequence[BenchTarget]) -> Iterator[str]:
    """Times in milliseconds beyond the provider's own; CPU in milliseconds for each reply."""
    yield "Added to the provider's own time, in ms; CPU in ms for each reply of 80 words."
    for title, figures in result.loads.items():
        yield ""
        yield title
        yield from _grid([HEAD, *(_row(name, one) for name, one in figures.items())])
    yield ""
    yield from _floor(result)
    yield from _supervision(result)
    yield from _sockets(result)
    yield from _memory(result.memory)
    average = ", ".join(f"{one:.1f}" for one in result.load_average)
    yield f"Load average of the machine at the start and the end: {average}"
    yield ""
    yield "Targets, each against what the same run measured:"
    yield from _grid(
        [(_met(target), target.what, f"{_number(target)} (at most {target.limit:g})") for target in targets]
    )


def count_unanswered(result: BenchResult) -> int:
    """How many questions got no whole reply, and flags that a screen did not show."""
    flags = result.supervision.flags.values() if result.supervision else ()
    return sum(
        figures.asked - figures.answered for load in result.loads.values() for figures in load.values()
    ) + sum(one.expected - one.shown for one in flags)


def _row(name: str, figures: RoundFigures) -> tuple[str, ...]:
    return (
        name,
        f"{figures.first_p50:.1f} / {figures.first_p95:.1f}",
        f"{figures.word_p50:.1f} / {figures.word_p95:.1f}",
        _ms_or_dash(figures.cpu),
        _ms_or_dash(figures.database_cpu),
        _ms_or_dash(figures.client_cpu),
        f"{figures.answered}/{figures.asked}",
    )


def _ms_or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _supervision(result: BenchResult) -> Iterator[str]:
    figures = result.supervision
    if figures is None:
        return
    yield f"Noticing, CPU of one message: {figures.noticing_p50:.2f} / {figures.noticing_p95:.2f}{_part(result)}"
    for meanwhile, flags in figures.flags.items():
        over = flags.shown_p95 / flags.stored_p95 if flags.stored_p95 else 0.0
        yield (
            f"A flag on the screens {meanwhile}: {flags.shown_p50:.1f} / {flags.shown_p95:.1f}, "
            f"{over:.2f} of the time until its message is known to be stored "
            f"({flags.stored_p50:.1f} / {flags.stored_p95:.1f}), {flags.shown}/{flags.expected} shown"
        )
    yield (
        f"CPU/reply without and with conversations read along: {figures.cpu_alone:.2f} and "
        f"{figures.cpu_watched:.2f}, {figures.watched_ratio:.3f} in the median of the rounds"
    )
    yield ""


def _part(result: BenchResult) -> str:
    """The 95th percentile as a part of the first word of one person, where this run measured it."""
    figures, ours = result.supervision, [load.get(OURS) for load in result.loads.values()]
    if figures is None or not ours or not ours[0] or not ours[0].first_p50:
        return ""
    title = next(iter(result.loads))
    return (
        f", at p95 {figures.noticing_p95 / ours[0].first_p50:.3f} of the first word of {title.split(',')[0]}"
    )


def _floor(result: BenchResult) -> Iterator[str]:
    if result.two_commits is None:
        return
    p50, p95 = result.two_commits
    alone = [
        load for title, load in result.loads.items() if title.startswith("one person, 0 ms") and OURS in load
    ]
    ratio = (
        f"; the first word of one person takes {alone[0][OURS].first_p50 / p50:.1f} times that"
        if alone
        else ""
    )
    yield f"Two commits, one after the other: {p50:.1f} / {p95:.1f} ms{ratio}"
    yield ""


def _sockets(result: BenchResult) -> Iterator[str]:
    if sockets := result.sockets:
        a_megabyte = 1_000_000 / sockets.bytes_each if sockets.bytes_each > 0 else float("inf")
        yield (
            f"Sockets: {sockets.opened} opened at once, {sockets.per_second:.0f} connects/s, "
            f"{sockets.bytes_each / 1000:.1f} kB each, {a_megabyte:.0f} a MB"
        )


def _memory(memory: Mapping[str, int]) -> Iterator[str]:
    for when, held in memory.items():
        yield f"Memory of the web process, {when}: {held / 1_000_000:.0f} MB"


def _met(target: BenchTarget) -> str:
    return "met" if target.met else "not met"


def _number(target: BenchTarget) -> str:
    return f"{target.measured:.2f} {target.unit}".rstrip()


def _grid(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        yield ("  " + "  ".join(cells)).rstrip()
