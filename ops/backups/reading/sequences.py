"""Positions of sequences, and the range allowed in a copy, because snapshots do not cover sequences."""

from collections.abc import Mapping
from dataclasses import replace

from psycopg import sql

from ops.backups.connecting.session import Session
from ops.backups.run.facts import Difference, SequencePosition

LIST = """
SELECT format('%I.%I', n.nspname, c.relname), s.seqincrement,
       (SELECT format('SELECT %s(%I) FROM %s', CASE WHEN s.seqincrement > 0 THEN 'max' ELSE 'min' END, a.attname,
                      d.refobjid::regclass)
        FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i')
          AND d.refclassid = 'pg_class'::regclass AND a.atttypid = ANY ('{int2,int4,int8}'::regtype[]) LIMIT 1),
       s.seqcycle
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relpersistence <> 't'
  AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid
                  AND e.deptype = 'e')
ORDER BY 1
"""


def read(session: Session) -> dict[str, SequencePosition]:
    """Read the position of every sequence; `before` and `after` are equal."""
    found = {row[0]: row[1:] for row in session.execute(LIST)}
    if not found:
        return {}
    # Names come quoted from the server. One statement reads all positions at nearly the same time.
    positions = " UNION ALL ".join(
        f"SELECT {sql.Literal(name).as_string(session)}, last_value, is_called FROM {name}" for name in found
    )
    read: dict[str, SequencePosition] = {}
    for name, last, called in session.execute(positions.encode()):
        increment, owned_by, _cycles = found[name]
        at = last if called else last - increment
        read[name] = SequencePosition(increment=increment, before=at, after=at, owned_by=owned_by or "")
    return read


def add_reach(session: Session, sequences: Mapping[str, SequencePosition]) -> dict[str, SequencePosition]:
    """Return the sequences with the furthest value of the column that each one feeds."""
    reached: dict[str, SequencePosition] = {}
    for name, sequence in sequences.items():
        row = session.execute(sequence.owned_by.encode()).fetchone() if sequence.owned_by else None
        reached[name] = replace(sequence, reached=row[0] if row else None)
    return reached


def join_readings(
    before: Mapping[str, SequencePosition], after: Mapping[str, SequencePosition]
) -> dict[str, SequencePosition]:
    """PURE: join two readings into the range each sequence went through."""
    return {
        name: replace(first, after=after[name].after if name in after else first.after)
        for name, first in before.items()
    }


def compare(source: Mapping[str, SequencePosition], copy: Mapping[str, SequencePosition]) -> list[Difference]:
    """PURE: list sequences outside before <= copy <= after. Missing ones are found by the catalogue."""
    found = []
    for name, there in copy.items():
        if name in source and (what := _find_fault(source[name], there)):
            found.append(Difference(kind="sequence", name=name, what=what))
    return found


def _find_fault(source: SequencePosition, copy: SequencePosition) -> str | None:
    forward = 1 if source.increment > 0 else -1
    if copy.before * forward < source.before * forward:
        return "it is behind its position at the snapshot: numbers would be issued twice"
    if source.after * forward >= source.before * forward and copy.before * forward > source.after * forward:
        return "it is ahead of its position at the end of the dump"
    return None


def find_short(copy: Mapping[str, SequencePosition]) -> list[str]:
    """PURE: list sequences that are behind a value their column already contains."""
    return [
        name
        for name, there in copy.items()
        if there.reached is not None
        and (there.before < there.reached if there.increment > 0 else there.before > there.reached)
    ]
