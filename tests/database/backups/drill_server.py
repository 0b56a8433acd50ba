"""Databases of one test server: made, copied, loaded, looked at."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg

from ops.backups.comparing.compare import compare
from ops.backups.comparing.deparse import Settler
from ops.backups.connecting.address import Address
from ops.backups.connecting.session import open_scratch, open_source
from ops.backups.reading import fingerprint, snapshot
from ops.backups.reading.fingerprint import assemble_fingerprint, read_definitions, sum_rows
from ops.backups.reading.inventory import list_tables
from ops.backups.reading.sequences import add_reach, read
from ops.backups.run.facts import Difference, Fingerprint
from ops.backups.run.monitor import RunMonitor

SETTING = "DIRECT_DATABASE_URL"
KEY = "a key for the backups of tests"


class Server:
    """One server, by the address of its first database."""

    def __init__(self, url: str) -> None:
        self.url = url

    def url_of(self, database: str, *, user: str | None = None, password: str = "") -> str:
        """Another database, as another role."""
        parts = urlsplit(self.url)
        who = (user or parts.username or "") + (f":{password}" if password else "")
        return f"postgresql://{who}@:{parts.port}/{database}?{parts.query}"

    def address(self, database: str, *, user: str | None = None, password: str = "") -> Address:
        """The same, as a drill reads it."""
        return Address.parse(self.url_of(database, user=user, password=password), setting=SETTING)

    @contextmanager
    def connected(self, database: str, *, user: str | None = None) -> Iterator[psycopg.Connection[Any]]:
        """A plain connection in autocommit."""
        with psycopg.connect(self.url_of(database, user=user), autocommit=True) as connection:
            yield connection

    def load(self, database: str, statements: str) -> None:
        """Run SQL."""
        with self.connected(database) as connection:
            connection.execute(statements.encode())

    def create(self, database: str, *, like: str | None = None) -> None:
        """A new database, empty or a copy."""
        template = f"TEMPLATE {like}" if like else ""
        self.load("postgres", f"CREATE DATABASE {database} {template}")

    def drop(self, database: str) -> None:
        """Without it."""
        self.load("postgres", f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def databases(self) -> set[str]:
        """What is there."""
        with self.connected("postgres") as connection:
            return {row[0] for row in connection.execute("SELECT datname FROM pg_database")}

    def one(self, database: str, query: str) -> Any:
        """One value."""
        with self.connected(database) as connection:
            row = connection.execute(query.encode()).fetchone()
            return row[0] if row else None

    def fingerprint_source(self, database: str) -> Fingerprint:
        """As a drill sees a source: at one snapshot."""
        address = self.address(database)
        with open_source(address, setting=SETTING) as session:
            held = snapshot.take_snapshot(session)
            standing = add_reach(session, read(session))
            with snapshot.open_sharing_sessions(address, held, size=2, setting=SETTING) as sessions:
                sums = sum_rows(sessions, held.tables, RunMonitor())
            return assemble_fingerprint(read_definitions(session), held.tables, sums, standing)

    def differences(self, source: Fingerprint, database: str) -> tuple[list[Difference], int]:
        """A copy against a fingerprint, and how many texts its server settled."""
        address = self.address(database)
        with open_scratch(address, setting=SETTING) as session:
            sessions = [open_scratch(address, setting=SETTING) for _ in range(2)]
            copy = fingerprint.take_fingerprint(session, sessions, list_tables(session), RunMonitor())
            settle = Settler(session)
            return compare(source, copy, settle=settle), settle.settled
