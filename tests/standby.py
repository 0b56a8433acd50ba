"""A primary and its standby over a copy of the tests' database, and what becomes of them in a failover."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg

from ops.stack.postgres import EmbeddedPostgres
from tests.conftest import STATE
from tests.database.backups.replicas import make_replica
from tests.patience import wait_until

STREAMS = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = %s"


class Pair:
    """Two servers. `url` names both, the primary first, and asks for the one that accepts writes."""

    def __init__(self, primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> None:
        self.primary = primary
        self.standby = standby
        folders = ",".join(unquote(server.url.split("host=")[1]) for server in (primary, standby))
        self.url = (
            f"postgresql://companion@/companion?host={folders}&port=5432&target_session_attrs=read-write"
        )

    def wait_until_streaming(self, state: str) -> None:
        """Wait until the standby streams as `sync` or `async`."""
        wait_until(lambda: ask(self.primary, STREAMS, state) == [(1,)])

    def cut_standby(self) -> None:
        """Let the standby receive nothing more, as a network that has failed."""
        ask(self.standby, "ALTER SYSTEM SET primary_conninfo = ''")
        ask(self.standby, "SELECT pg_reload_conf()")
        wait_until(lambda: ask(self.standby, "SELECT count(*) FROM pg_stat_wal_receiver") == [(0,)])

    def promote(self) -> None:
        """Make the standby a primary."""
        assert ask(self.standby, "SELECT pg_promote(true, 60)") == [(True,)]


def ask(server: EmbeddedPostgres, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """The rows of one statement on one server."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        cursor = connection.execute(query.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def start_pair(origin: EmbeddedPostgres, *, is_synchronous: bool) -> Iterator[Pair]:
    """Start a primary with the rows of `origin`, and a standby of it."""
    folders = [STATE / "failover-primary", STATE / "failover-standby"]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    primary = make_replica(origin, folders[0])
    _detach(folders[0] / "data")
    try:
        primary.start()
        standby = make_replica(primary, folders[1])
        try:
            standby.start()
            pair = Pair(primary, standby)
            # After the copy: the standby waits for no standby of its own once it is promoted.
            if is_synchronous:
                ask(primary, "ALTER SYSTEM SET synchronous_standby_names = 'walreceiver'")
                ask(primary, "SELECT pg_reload_conf()")
            pair.wait_until_streaming("sync" if is_synchronous else "async")
            yield pair
        finally:
            standby.kill()
    finally:
        primary.kill()


def _detach(data: Path) -> None:
    """Make a copied cluster a primary of its own, on the timeline of its origin."""
    (data / "standby.signal").unlink()
    settings = data / "postgresql.auto.conf"
    kept = [line for line in settings.read_text().splitlines() if not line.startswith("primary_conninfo")]
    settings.write_text("\n".join(kept) + "\n")
