"""Sessions of a drill: settings that change a row's text are pinned, and the source is read-only."""

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
    # --jobs bounds the load on the machine; parallel plans would exceed it.
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
}
READ_ONLY: Mapping[str, str] = {"default_transaction_read_only": "on"}
PIN = "SELECT pg_catalog.set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS pinned (name, value)"
CLEAR_TIMEOUTS = """
SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings
WHERE name IN ('transaction_timeout', 'idle_session_timeout')
"""
Session = psycopg.Connection[Any]


def open_source(address: Address, *, setting: str) -> Session:
    """Open a direct session that is read-only from its start."""
    return _open(address, READ_ONLY, setting=setting, oid=None)


def open_scratch(address: Address, *, setting: str, oid: int | None = None) -> Session:
    """Open a direct session on a scratch copy, or on its server's maintenance database."""
    return _open(address, {}, setting=setting, oid=oid)


def _open(address: Address, options: Mapping[str, str], *, setting: str, oid: int | None) -> Session:
    session = open_direct(address, options, setting=setting, oid=oid)
    # Set after connecting: PGTZ and PGDATESTYLE would override options sent while connecting.
    session.execute(PIN, [list(PINNED), list(PINNED.values())])
    # Read from pg_settings, because older servers reject the names of timeouts they do not have.
    session.execute(CLEAR_TIMEOUTS)
    return session
