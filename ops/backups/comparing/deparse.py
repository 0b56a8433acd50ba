"""The noise of printed definitions, settled by the scratch server itself.

A check, a partial index or a view is printed a little differently after its first round trip, and means the same.
Where two texts differ, the scratch server parses both and prints both again, in a transaction that is rolled back.
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
    """Asks one scratch database. Every question leaves it as it was."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.settled = 0
        """How many pairs of texts meant the same."""

    def __call__(self, kind: str, name: str, part: str, source: Entry, copy: Entry) -> bool:
        """Whether two texts that differ mean the same to the server. What it cannot parse differs."""
        printer = _printer(kind, part)
        if printer is None or part not in source or part not in copy:
            return False
        same = self._printed(printer, name, part, source) == self._printed(printer, name, part, copy) != ""
        self.settled += same
        return same

    def _printed(self, printer: Print, name: str, part: str, entry: Entry) -> str:
        self._session.execute("BEGIN")
        try:
            return printer(self._session, name, part, entry)
        except psycopg.Error:
            return ""
        finally:
            self._session.execute("ROLLBACK")


def _printer(kind: str, part: str) -> Print | None:
    if (kind, part) in EXPRESSIONS or (kind == "index" and part.startswith("expression ")):
        return _expression
    return WHOLE.get((kind, part))


def _expression(session: Session, _name: str, part: str, entry: Entry) -> str:
    return _view(session, f"SELECT ({entry[part]}) AS it FROM ONLY {entry['on']}")


def _when(session: Session, _name: str, part: str, entry: Entry) -> str:
    # A trigger's condition speaks of two rows of its table.
    return _view(session, f"SELECT ({entry[part]}) AS it FROM ONLY {entry['on']} old, ONLY {entry['on']} new")


def _query(session: Session, _name: str, part: str, entry: Entry) -> str:
    return _view(session, entry[part].rstrip().removesuffix(";"))


def _domain(session: Session, _name: str, part: str, entry: Entry) -> str:
    _run(session, f"CREATE DOMAIN pg_temp.settled AS {entry['base type']} CONSTRAINT c CHECK ({entry[part]})")
    return _one(
        session,
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid = 'pg_temp.settled'::regtype",
    )


def _function(session: Session, name: str, part: str, entry: Entry) -> str:
    _run(session, entry[part])
    return _one(session, f"SELECT pg_get_functiondef({_quoted(_types_only(session, name))}::regprocedure)")


def _rule(session: Session, name: str, part: str, entry: Entry) -> str:
    _run(session, re.sub(r"^CREATE RULE", "CREATE OR REPLACE RULE", entry[part]))
    return _one(
        session,
        "SELECT string_agg(pg_get_ruledef(r.oid), '') FROM pg_rewrite r WHERE "
        f"format('%s.%I', r.ev_class::regclass, r.rulename) = {_quoted(name)}",
    )


def _types_only(session: Session, name: str) -> str:
    return _one(
        session,
        "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE format('%s.%I(%s)', p.pronamespace::regnamespace, "
        f"p.proname, pg_get_function_identity_arguments(p.oid)) = {_quoted(name)}",
    )


WHOLE: Mapping[tuple[str, str], Print] = {
    ("trigger", "when"): _when,
    ("view", "query"): _query,
    ("materialized view", "query"): _query,
    ("domain constraint", "expression"): _domain,
    ("function", "definition"): _function,
    ("rule", "definition"): _rule,
}


def _view(session: Session, query: str) -> str:
    _run(session, f"CREATE TEMP VIEW settled AS {query}")
    return _one(session, "SELECT pg_get_viewdef('pg_temp.settled'::regclass)")


def _run(session: Session, statement: str) -> None:
    # Prepared, so that the server takes one statement only, whatever the text from elsewhere holds.
    session.execute(statement.encode(), prepare=True)


def _one(session: Session, query: str) -> str:
    row = session.execute(query.encode()).fetchone()
    return str(row[0]) if row else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
