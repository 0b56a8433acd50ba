"""Acts of staff on the audit record, written in the transaction of the act on the connections of sockets."""

from psycopg import AsyncCursor

from companion.rows import Row
from companion.supervision.act_answers import ActKind
from companion.supervision.staff import Staff

INSERT_ENTRY = """
INSERT INTO ops_auditentry (who, what, about, note) VALUES (%(who)s, %(what)s, %(about)s, %(note)s)
"""
FIND_USERNAME = "SELECT username FROM auth_user WHERE id = %(user)s"


async def record_act(
    cursor: AsyncCursor[Row], act: ActKind, staff: Staff, *, about: int | None, note: str
) -> None:
    """Record an act of staff under their account's name, as pages do."""
    await record_entry(cursor, act.value, staff, about=about, note=note)


async def record_entry(
    cursor: AsyncCursor[Row], what: str, staff: Staff, *, about: int | None = None, note: str = ""
) -> None:
    """Record that `staff` did `what`. `note` holds ids, counts and codes only."""
    await cursor.execute(FIND_USERNAME, {"user": staff.user})
    row = await cursor.fetchone()
    facts = {
        "who": str(row[0] if row else staff.name)[:150],
        "what": what,
        "about": about,
        "note": note[:200],
    }
    await cursor.execute(INSERT_ENTRY, facts)
