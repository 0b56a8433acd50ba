"""How every session of a drill is set up: what changes a row's text is pinned, the source can only be read."""

from collections.abc import Mapping
from typing import Any

import psycopg

from ops.backups.connecting.address import Address
from ops.backups.connecting.direct import open_direct

PINNED: Mapping[str, str] = {
    "application_name": "restore drill",
    "TimeZone": "UTC",
    "DateStyle": "ISO, DMY",
    "IntervalStyle": "postgres",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "search_path": "",
    "lc_monetary": "C",
    "xmlbinary": "base64",
    "quote_all_identifiers": "off",
    "row_security": "off",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": "5s",
    "client_encoding": "UTF8",
    # Two connections are what the machine is asked for; parallel plans would ask for more.
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
}
READ_ONLY: Mapping[str, str] = {"default_transaction_read_only": "on"}
PIN = "SELECT pg_catalog.set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS pinned (name, value)"
NO_MORE_TIMEOUTS = """
SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings
WHERE name IN ('transaction_timeout', 'idle_session_timeout')
"""
Session = psycopg.Connection[Any]


def open_source(address: Address, *, setting: str) -> Session:
    """A direct session that cannot write, from its first moment."""
    return _open(address, READ_ONLY, setting=setting, oid=None)


def open_scratch(address: Address, *, setting: str, oid: int | None = None) -> Session:
    """A direct session on a scratch copy, or on its server's maintenance database."""
    return _open(address, {}, setting=setting, oid=oid)


def _open(address: Address, options: Mapping[str, str], *, setting: str, oid: int | None) -> Session:
    session = open_direct(address, options, setting=setting, oid=oid)
    # Set once connected: what PGTZ or PGDATESTYLE say would win over anything sent while connecting.
    session.execute(PIN, [list(PINNED), list(PINNED.values())])
    # Newer servers know more clocks than older ones, which refuse a name they do not know.
    session.execute(NO_MORE_TIMEOUTS)
    return session
