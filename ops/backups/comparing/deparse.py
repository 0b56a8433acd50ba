"""Decides whether two definitions that are printed differently mean the same.

A check, a partial index or a view is printed differently after its first restore without meaning anything else. The
scratch server parses and prints both texts again, in a transaction that is rolled back, and the results are compared.
"""

import re
from collections.abc import Callable, Mapping

import psycopg

from ops.backups.connecting.session import Session
from ops.backups.run.facts import Entry

Print = Callable[[Session, str, str, Entry], str]
EXPRESSIONS = {
    ("column", "default"),
    ("constraint", "expression"),
    ("index", "predicate"),
    ("policy", "using"),
    ("policy", "with check"),
}


class Settler:
    """Settles differing definitions with a scratch database, which it leaves unchanged."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.settled = 0
        """Number of pairs that meant the same."""

    def __call__(self, kind: str, name: str, part: str, source: Entry, copy: Entry) -> bool:
        """Return whether the server prints both texts alike. A text that it cannot parse differs."""
        printer = _find_printer(kind, part)
        # Other parts are names, numbers and flags: they have one way to be printed.
        if printer is None or part not in source or part not in copy:
            return False
        # An empty result is a text that the server cannot parse: two of those are not equal.
        same = (
            self._print_anew(printer, name, part, source) == self._print_anew(printer, name, part, copy) != ""
        )
        self.settled += same
        return same

    def _print_anew(self, printer: Print, name: str, part: str, entry: Entry) -> str:
        # A transaction for each text: an error ends it, and what the text creates goes with it.
        self._session.execute("BEGIN")
        try:
            return printer(self._session, name, part, entry)
        except psycopg.Error:
            return ""
        finally:
            self._session.execute("ROLLBACK")


def _find_printer(kind: str, part: str) -> Print | None:
    if (kind, part) in EXPRESSIONS or (kind == "index" and part.startswith("expression ")):
        return _print_expression
    return WHOLE.get((kind, part))


def _print_expression(session: Session, _name: str, part: str, entry: Entry) -> str:
    return _print_view(session, f"SELECT ({entry[part]}) AS it FROM ONLY {entry['on']}")


def _print_condition(session: Session, _name: str, part: str, entry: Entry) -> str:
    # A trigger's condition may refer to OLD and NEW, two rows of its table.
    return _print_view(
        session, f"SELECT ({entry[part]}) AS it FROM ONLY {entry['on']} old, ONLY {entry['on']} new"
    )


def _print_query(session: Session, _name: str, part: str, entry: Entry) -> str:
    return _print_view(session, entry[part].rstrip().removesuffix(";"))


def _print_domain(session: Session, _name: str, part: str, entry: Entry) -> str:
    _execute_one(
        session, f"CREATE DOMAIN pg_temp.settled AS {entry['base type']} CONSTRAINT c CHECK ({entry[part]})"
    )
    return _fetch_text(
        session,
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid = 'pg_temp.settled'::regtype",
    )


def _print_function(session: Session, name: str, part: str, entry: Entry) -> str:
    _execute_one(session, entry[part])
    return _fetch_text(
        session, f"SELECT pg_get_functiondef({_quote(_find_signature(session, name))}::regprocedure)"
    )


def _print_rule(session: Session, name: str, part: str, entry: Entry) -> str:
    # The copy has this rule already.
    _execute_one(session, re.sub(r"^CREATE RULE", "CREATE OR REPLACE RULE", entry[part]))
    return _fetch_text(
        session,
        "SELECT string_agg(pg_get_ruledef(r.oid), '') FROM pg_rewrite r WHERE "
        f"format('%s.%I', r.ev_class::regclass, r.rulename) = {_quote(name)}",
    )


def _find_signature(session: Session, name: str) -> str:
    return _fetch_text(
        session,
        "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE format('%s.%I(%s)', p.pronamespace::regnamespace, "
        f"p.proname, pg_get_function_identity_arguments(p.oid)) = {_quote(name)}",
    )


WHOLE: Mapping[tuple[str, str], Print] = {
    ("trigger", "when"): _print_condition,
    ("view", "query"): _print_query,
    ("materialized view", "query"): _print_query,
    ("domain constraint", "expression"): _print_domain,
    ("function", "definition"): _print_function,
    ("rule", "definition"): _print_rule,
}


def _print_view(session: Session, query: str) -> str:
    _execute_one(session, f"CREATE TEMP VIEW settled AS {query}")
    return _fetch_text(session, "SELECT pg_get_viewdef('pg_temp.settled'::regclass)")


def _execute_one(session: Session, statement: str) -> None:
    # A prepared statement can contain only one command: the text comes from a manifest.
    session.execute(statement.encode(), prepare=True)


def _fetch_text(session: Session, query: str) -> str:
    row = session.execute(query.encode()).fetchone()
    return str(row[0]) if row else ""


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
