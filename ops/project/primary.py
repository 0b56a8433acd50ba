"""Connections that follow the primary of several PostgreSQL servers.

`target_session_attrs=read-write` finds a server that accepts writes. After a failover the old primary accepts them too,
once it is started again by mistake. A promotion begins a new timeline, so the older of two is the wrong one: the newest
timeline that was written to is kept in a file of the state folder, and an older one is refused.
"""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict

from companion.transactions import is_read_only

log = logging.getLogger(__name__)

FILE = "database-timeline.json"
SERVER_KEYWORDS = ("host", "hostaddr", "port")

# The control file names the former timeline until the first checkpoint after a promotion, so ask for the WAL file.
READ_TIMELINE = """
SELECT s.system_identifier::text,
       ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::int
FROM pg_catalog.pg_control_system() s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """A timeline of one cluster. `system` is the cluster's identifier, which its standbys share."""

    system: str
    number: int

    def is_before(self, other: "Timeline") -> bool:
        """Whether `other` began with a promotion after this one. Timelines of two clusters do not compare."""
        return self.system == other.system and self.number < other.number


class NewestTimeline:
    """The newest timeline that processes of this machine have used, kept in `file`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._used: Timeline | None = None

    def accept(self, found: Timeline) -> bool:
        """Keep `found` as the newest. False: a newer one of the same cluster was used before."""
        known = [timeline for timeline in (self._used, self._read()) if timeline is not None]
        if any(found.is_before(timeline) for timeline in known):
            return False
        self._used = found
        if found not in known[-1:]:
            self._write(found)
        return True

    def _read(self) -> Timeline | None:
        try:
            kept = json.loads(self._file.read_text())
            return Timeline(system=str(kept["system"]), number=int(kept["timeline"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, timeline: Timeline) -> None:
        partial = self._file.with_suffix(f".{os.getpid()}")
        try:
            partial.write_text(json.dumps({"system": timeline.system, "timeline": timeline.number}))
            partial.replace(self._file)
        except OSError as failure:
            # This process refuses an older timeline all the same; one that starts later cannot.
            log.warning("database.timeline_not_kept cause=%s", type(failure).__name__)


class PrimaryFinder:
    """Which of the servers of an address to try first, and which to refuse."""

    def __init__(self, newest: NewestTimeline) -> None:
        self._newest = newest
        self._last_used: Mapping[str, str] = {}
        self._last_timeline: Timeline | None = None
        self.moves = 0
        """How often this process has been led to another timeline or cluster."""

    def order_servers(self, conninfo: str, options: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the keywords of each server. The last one in use is first: another may have vanished."""
        servers = split_servers({**conninfo_to_dict(conninfo), **options})
        return sorted(servers, key=lambda server: server != self._last_used)

    def check(self, row: tuple[str, int], server: Mapping[str, str]) -> None:
        """Remember the server of a new connection. Raises OperationalError for one with an older timeline."""
        found = Timeline(system=row[0], number=row[1])
        if not self._newest.accept(found):
            log.error("database.old_primary timeline=%d", found.number)
            raise psycopg.OperationalError(f"an old primary answers: its timeline {found.number} is over")
        if self._last_timeline not in (None, found):
            self.moves += 1
            log.warning("database.moved timeline=%d", found.number)
        self._last_used, self._last_timeline = dict(server), found


def split_servers(options: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return host, hostaddr and port of each server that these libpq options name, as libpq pairs them.

    Raises ValueError where a list is neither one entry long nor as long as the others.
    """
    lists = {name: str(options[name]).split(",") for name in SERVER_KEYWORDS if options.get(name)}
    count = max((len(entries) for entries in lists.values()), default=1)
    if any(len(entries) not in (1, count) for entries in lists.values()):
        raise ValueError("as many ports as hosts, or one")
    return [
        {name: entries[number if len(entries) > 1 else 0] for name, entries in lists.items()}
        for number in range(count)
    ]


def build_connection_classes(
    finder: PrimaryFinder,
) -> tuple[type[psycopg.Connection[Any]], type[psycopg.AsyncConnection[Any]]]:
    """Return the classes of connections that follow the primary, for threads and for event loops."""
    return _build_threaded(finder), _build_asynchronous(finder)


def _build_threaded(finder: PrimaryFinder) -> type[psycopg.Connection[Any]]:

    class PrimaryConnection(psycopg.Connection[Any]):
        @classmethod
        def connect(cls, conninfo: str = "", **options: Any) -> Self:
            failure = psycopg.OperationalError("no server is named")
            for server in finder.order_servers(conninfo, options):
                try:
                    connection = super().connect(conninfo, **{**options, **server})
                except psycopg.OperationalError as refusal:
                    failure = refusal
                    continue
                try:
                    connection._check_timeline(server)
                    return connection
                except psycopg.OperationalError as refusal:
                    failure = refusal
                    connection.close()
            raise failure

        def _check_timeline(self, server: Mapping[str, str]) -> None:
            try:
                row = super().execute(READ_TIMELINE, prepare=False).fetchone()
            except psycopg.OperationalError:
                raise
            except psycopg.Error as failure:
                _log_unknown(failure)
                return
            if row is not None:
                finder.check((row[0], row[1]), server)

        def execute(self, *statement: Any, **options: Any) -> psycopg.Cursor[Any]:
            # The pool's check calls it before each use; pages use cursors. A server tells of such a change with
            # its next answer.
            cursor = super().execute(*statement, **options)
            if is_read_only(self):
                # A pool takes an open connection back, also one that has failed its check.
                self.close()
                raise psycopg.OperationalError("the server has become read-only")
            return cursor

    return PrimaryConnection


def _build_asynchronous(finder: PrimaryFinder) -> type[psycopg.AsyncConnection[Any]]:
    class AsyncPrimaryConnection(psycopg.AsyncConnection[Any]):
        @classmethod
        async def connect(cls, conninfo: str = "", **options: Any) -> Self:
            failure = psycopg.OperationalError("no server is named")
            for server in finder.order_servers(conninfo, options):
                try:
                    connection = await super().connect(conninfo, **{**options, **server})
                except psycopg.OperationalError as refusal:
                    failure = refusal
                    continue
                try:
                    await connection._check_timeline(server)
                    return connection
                except psycopg.OperationalError as refusal:
                    failure = refusal
                    await connection.close()
            raise failure

        async def _check_timeline(self, server: Mapping[str, str]) -> None:
            try:
                row = await (await self.execute(READ_TIMELINE, prepare=False)).fetchone()
            except psycopg.OperationalError:
                raise
            except psycopg.Error as failure:
                _log_unknown(failure)
                return
            if row is not None:
                finder.check((row[0], row[1]), server)

    return AsyncPrimaryConnection


def _log_unknown(failure: psycopg.Error) -> None:
    # A hosted service may forbid the question. It keeps an old primary away by itself.
    log.warning("database.timeline_unknown code=%s", failure.sqlstate)
