"""PURE. The bench's targets, compared with what the same run measured."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ops.bench.figures import RoundFigures
from ops.bench.plan import OURS, RELAY_AIOHTTP, RELAY_SERVICE, RELAY_STOCK, RELAY_TUNED, BenchLoad, BenchPlan
from ops.bench.run import BenchResult

TICK_MS = 40.0
MAX_SOCKET_KB = 60.0
MAX_FIRST_WORD_P95_MS = 500.0
MAX_NOTICING_P95_MS = 1.0
MAX_FLAG_P95_MS = 300.0
MAX_WATCHED_RATIO = 1.05


@dataclass(frozen=True, kw_only=True)
class BenchTarget:
    """One target and its measured value. `limit` is the highest value that meets it."""

    what: str
    measured: float
    limit: float
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether this run reached the target."""
        return self.measured <= self.limit


def check_targets(plan: BenchPlan, result: BenchResult) -> list[BenchTarget]:
    """Every target for which this run measured both sides."""
    targets = [*_socket_target(result)]
    for load in plan.loads:
        figures = result.loads[load.title]
        targets += _load_targets(load, figures)
    return [*targets, *_supervision_targets(result)]


def _socket_target(result: BenchResult) -> Iterator[BenchTarget]:
    if result.sockets is not None:
        each = result.sockets.bytes_each / 1000
        yield BenchTarget(what="memory of an idle socket", measured=each, limit=MAX_SOCKET_KB, unit="kB")


def _supervision_targets(result: BenchResult) -> Iterator[BenchTarget]:
    supervision = result.supervision
    if supervision is None:
        return
    yield BenchTarget(
        what="noticing in a usual message, CPU p95",
        measured=supervision.noticing_p95,
        limit=MAX_NOTICING_P95_MS,
        unit="ms",
    )
    for meanwhile, flags in supervision.flags.items():
        yield BenchTarget(
            what=f"a flag on the screens {meanwhile}, p95",
            measured=flags.shown_p95,
            limit=MAX_FLAG_P95_MS,
            unit="ms",
        )
    yield BenchTarget(
        what="CPU per reply while conversations are read along, against without",
        measured=supervision.watched_ratio,
        limit=MAX_WATCHED_RATIO,
    )


def _with_database(figures: RoundFigures) -> float | None:
    return None if figures.cpu is None else figures.cpu + (figures.database_cpu or 0.0)


def _load_targets(load: BenchLoad, figures: dict[str, RoundFigures]) -> Iterator[BenchTarget]:
    ours = figures[OURS]

    def ratio(
        what: str, other: str, limit: float, of: Callable[[RoundFigures], float | None]
    ) -> Iterator[BenchTarget]:
        floor = of(figures[other]) if other in figures else None
        measured = of(ours)
        if floor and measured is not None:
            yield BenchTarget(
                what=f"{load.title}: {what}, against {other}", measured=measured / floor, limit=limit
            )

    if load.people == 1 and load.pace_ms == 0:
        yield from ratio("first word", RELAY_SERVICE, 2.0, lambda one: one.first_p50)
    if load.people >= 200 and load.pace_ms <= 10:
        for other, limit in ((RELAY_STOCK, 0.25), (RELAY_TUNED, 1.0)):
            yield from ratio("first word p50", other, limit, lambda one: one.first_p50)
            yield from ratio("first word p95", other, limit, lambda one: one.first_p95)
    if load.people > 1:
        yield from ratio("CPU per reply", RELAY_AIOHTTP, 1.0, lambda one: one.cpu)
        yield from ratio("CPU per reply with PostgreSQL's", RELAY_AIOHTTP, 1.0, _with_database)
    if load.people >= 200 and load.pace_ms > 10:
        yield BenchTarget(
            what=f"{load.title}: first word p95",
            measured=ours.first_p95,
            limit=MAX_FIRST_WORD_P95_MS,
            unit="ms",
        )
    if RELAY_SERVICE in figures and load.pace_ms > 0:
        behind = ours.word_p50 - figures[RELAY_SERVICE].word_p50
        yield BenchTarget(
            what=f"{load.title}: a word's delay beyond {RELAY_SERVICE}",
            measured=behind,
            limit=TICK_MS,
            unit="ms",
        )
