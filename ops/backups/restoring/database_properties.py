"""PURE: makes the statements for properties that a dump omits: rights, connection limit and settings."""

import re
from collections.abc import Iterator

from psycopg import sql

from ops.backups.run.facts import Catalogue, Entry

DEFAULT_RIGHTS = {"PUBLIC": "CONNECT,TEMPORARY"}
RIGHTS = {"CONNECT", "CREATE", "TEMPORARY"}
LISTS = {
    "search_path",
    "temp_tablespaces",
    "local_preload_libraries",
    "session_preload_libraries",
    "shared_preload_libraries",
    "unix_socket_directories",
}
"""Parameters whose value is a list of names, stored with quotes."""


def make_statements(catalogue: Catalogue, name: sql.Identifier) -> Iterator[sql.Composable]:
    """Yield the statements that give a new database the catalogued properties. Defaults need none."""
    itself = catalogue.get("database owner", {}).get("itself", {})
    limit = itself.get("limit of connections", "-1")
    if limit != "-1":
        yield sql.SQL("ALTER DATABASE {} CONNECTION LIMIT {};").format(name, sql.Literal(int(limit)))
    # Without an owner in the catalogue the rights are unknown; an empty entry means that none were granted.
    yield from _grant_rights(catalogue.get("database grant", {}).get("itself", {}), name, known=bool(itself))
    for entry in catalogue.get("database setting", {}).values():
        yield _set_parameter(entry, name)


def _grant_rights(held: Entry, name: sql.Identifier, *, known: bool) -> Iterator[sql.Composable]:
    if not known:
        return
    if held.get("PUBLIC") != DEFAULT_RIGHTS["PUBLIC"]:
        yield sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC;").format(name)
    for role, rights in held.items():
        if DEFAULT_RIGHTS.get(role) == rights:
            continue
        grantee = sql.SQL("PUBLIC") if role == "PUBLIC" else sql.Identifier(role)
        for right in rights.split(","):
            if right.rstrip("*") in RIGHTS:
                yield sql.SQL("GRANT {} ON DATABASE {} TO {}{};").format(
                    sql.SQL(right.rstrip("*")),
                    name,
                    grantee,
                    sql.SQL(" WITH GRANT OPTION" if right.endswith("*") else ""),
                )


def _set_parameter(entry: Entry, name: sql.Identifier) -> sql.Composable:
    parameter = sql.SQL(".").join(map(sql.Identifier, entry["parameter"].split(".")))
    values = _split_names(entry["value"]) if entry["parameter"] in LISTS else [entry["value"]]
    value = sql.SQL(", ").join(map(sql.Literal, values or [""]))
    if "role" in entry:
        return sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} TO {};").format(
            sql.Identifier(entry["role"]), name, parameter, value
        )
    return sql.SQL("ALTER DATABASE {} SET {} TO {};").format(name, parameter, value)


def _split_names(text: str) -> list[str]:
    """Split a list into names without quotes."""
    found = re.findall(r'"((?:[^"]|"")*)"|([^,\s"]+)', text)
    return [quoted.replace('""', '"') or plain for quoted, plain in found]
