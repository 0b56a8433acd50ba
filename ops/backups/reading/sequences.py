"""Where sequences stand, and where they may stand in a copy: they obey no snapshot."""

from collections.abc import Mapping
from dataclasses import replace

from psycopg import sql

from ops.backups.connecting.session import Session
from ops.backups.run.facts import Difference, Sequence

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


def read(session: Session) -> dict[str, Sequence]:
    """Every sequence as it stands now, with `before` and `after` alike."""
    found = {row[0]: row[1:] for row in session.execute(LIST)}
    if not found:
        return {}
    # Names come quoted from the server itself; one statement reads them all at nearly one moment.
    positions = " UNION ALL ".join(
        f"SELECT {sql.Literal(name).as_string(session)}, last_value, is_called FROM {name}" for name in found
    )
    read: dict[str, Sequence] = {}
    for name, last, called in session.execute(positions.encode()):
        increment, owned_by, _cycles = found[name]
        at = last if called else last - increment
        read[name] = Sequence(increment=increment, before=at, after=at, owned_by=owned_by or "")
    return read


def with_reach(session: Session, sequences: Mapping[str, Sequence]) -> dict[str, Sequence]:
    """The same, with the furthest value of the column that each one feeds."""
    reached: dict[str, Sequence] = {}
    for name, sequence in sequences.items():
        row = session.execute(sequence.owned_by.encode()).fetchone() if sequence.owned_by else None
        reached[name] = replace(sequence, reached=row[0] if row else None)
    return reached


def span(before: Mapping[str, Sequence], after: Mapping[str, Sequence]) -> dict[str, Sequence]:
    """PURE: the stretch each sequence went through between two readings."""
    return {
        name: replace(first, after=after[name].after if name in after else first.after)
        for name, first in before.items()
    }


def compare(source: Mapping[str, Sequence], copy: Mapping[str, Sequence]) -> list[Difference]:
    """PURE: before <= copy <= after, and not short of the column it feeds. Missing ones are the catalogue's."""
    found = []
    for name, there in copy.items():
        if name in source and (what := _fault(source[name], there)):
            found.append(Difference(kind="sequence", name=name, what=what))
    return found


def _fault(source: Sequence, copy: Sequence) -> str | None:
    forward = 1 if source.increment > 0 else -1
    if copy.before * forward < source.before * forward:
        return "it stands before the place it had when the snapshot was taken: numbers would be given twice"
    if source.after * forward >= source.before * forward and copy.before * forward > source.after * forward:
        return "it stands beyond the place it had when the dump ended"
    return None


def short(copy: Mapping[str, Sequence]) -> list[str]:
    """PURE: sequences that stand short of a value their column already holds."""
    return [
        name
        for name, there in copy.items()
        if there.reached is not None
        and (there.before < there.reached if there.increment > 0 else there.before > there.reached)
    ]
