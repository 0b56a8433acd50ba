"""A drill behind PgBouncer stops before anything is created, and says which setting to use (D3)."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ops.backups.backup import BackupOrder, back_up
from ops.backups.connecting.address import Address
from ops.backups.drill import Drill
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.restoring.order import DrillOrder
from ops.backups.run.errors import Pooler
from ops.backups.run.monitor import RunMonitor
from tests.acceptance.backups.pooler import Mode, pooler
from tests.database.backups.drill_server import KEY, Server
from tests.folders import allow_traversal

KINDS = list(itertools.product(("session", "transaction"), (False, True)))


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-{'options' if kind[1] else 'strict'}")
def pooled(request: pytest.FixtureRequest, live: Server, tmp_path: Path) -> Iterator[Address]:
    """The same database by way of a pooler that answers for every name."""
    mode: Mode = request.param[0]
    allow_traversal(tmp_path)
    with pooler(tmp_path / "pooler", live.url, mode=mode, lets_options_pass=request.param[1]) as url:
        with psycopg.connect(url) as through:
            assert through.execute("SELECT count(*) FROM person").fetchone() == (400,)
        yield Address.parse(url, setting="DIRECT_DATABASE_URL")


def read_state(live: Server) -> tuple[set[str], object]:
    """What must not change: the databases, and everything in the live one."""
    return live.databases(), live.fingerprint_source("live")


def test_a_pooled_source_is_refused_and_nothing_is_created(
    live: Server, pooled: Address, tmp_path: Path
) -> None:
    before = read_state(live)
    for where in ("private server", "same server"):
        report = Drill(
            DrillOrder(source=pooled, state=tmp_path / "state", where=where, key=KEY), RunMonitor()
        ).run()

        assert report.verdict == DrillVerdict.COULD_NOT_RUN
        assert "not a direct connection" in report.stopped
        assert "Set DIRECT_DATABASE_URL" in report.stopped
    assert read_state(live) == before
    assert not (tmp_path / "state").exists()


def test_a_pooled_target_is_refused_and_nothing_is_written_there(
    live: Server, pooled: Address, tmp_path: Path
) -> None:
    before = read_state(live)
    order = DrillOrder(
        source=live.address("live"),
        state=tmp_path / "state",
        key=KEY,
        where="target",
        target=pooled.with_database("postgres"),
    )

    report = Drill(order, RunMonitor()).run()

    assert report.verdict == DrillVerdict.COULD_NOT_RUN
    assert "--target is not a direct connection" in report.stopped
    assert read_state(live) == before
    assert not (tmp_path / "state" / "drill-work").exists()


def test_a_backup_through_a_pooler_is_refused(pooled: Address, tmp_path: Path) -> None:
    with pytest.raises(Pooler, match="Set DIRECT_DATABASE_URL"):
        back_up(BackupOrder(source=pooled, into=tmp_path / "backups", key=KEY), RunMonitor())

    assert [path.name for path in (tmp_path / "backups").iterdir()] == [".lock"]
