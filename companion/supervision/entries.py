"""The statements on what stands in a conversation beside its turns. Stored before it is shown, in the order of its id.

An entry is inserted under the lock of the conversation's control row, so entries of one conversation commit in the
order of their ids, and none is inserted beside the opening of a turn.
"""

from dataclasses import dataclass
from uuid import UUID

from psycopg import AsyncCursor

from companion.rows import Row
from companion.supervision.entry_view import EntryView
from companion.supervision.states import EntryKind

MAX_ENTRIES_OF_PAGE = 200
"""Entries between the turns of one page of history, the newest."""
MAX_ENTRIES_READ = 50
"""New entries of one conversation in one read."""

LOCK_CONTROL = """
SELECT 1 FROM companion_control WHERE conversation_id = %(conversation)s FOR NO KEY UPDATE
"""

INSERT_ENTRY = """
INSERT INTO companion_transcriptentry (conversation_id, kind, key, person, name, text, version, flag, after_turn,
                                       show_at)
SELECT c.id, %(kind)s, %(key)s, %(person)s, %(name)s, %(text)s, %(version)s, %(flag)s,
       coalesce((SELECT t.id FROM companion_turn t WHERE t.conversation_id = c.id
                 ORDER BY t.conversation_id DESC, t.id DESC LIMIT 1), 0),
       clock_timestamp() + make_interval(secs => %(decide_s)s)
FROM companion_conversation c WHERE c.id = %(conversation)s
ON CONFLICT (conversation_id, key) WHERE key IS NOT NULL DO NOTHING
RETURNING id
"""

FIND_ENTRY = """
SELECT id FROM companion_transcriptentry WHERE conversation_id = %(conversation)s AND key = %(key)s
"""

DECIDE_ENTRY = """
UPDATE companion_transcriptentry SET text = %(text)s, show_at = clock_timestamp()
WHERE id = %(entry)s AND show_at > clock_timestamp()
"""

# Of the last entries of the conversation only.
FIND_RECENT = """
SELECT e.id, e.text FROM (
    SELECT id, kind, text, at FROM companion_transcriptentry WHERE conversation_id = %(conversation)s
    ORDER BY conversation_id DESC, id DESC LIMIT 20
) e
WHERE e.kind = %(kind)s AND e.at > clock_timestamp() - make_interval(secs => %(within_s)s)
ORDER BY e.id DESC LIMIT 1
"""

_COLUMNS = """e.id, e.conversation_id, e.kind, e.key, e.name, e.text, e.at, e.after_turn,
       greatest(extract(epoch FROM e.show_at - clock_timestamp()), 0)::float8"""

# What was disclosed is shown as an opening of its turn.
_IS_SHOWN = f"e.kind <> '{EntryKind.DISCLOSURE}'"

# The row comparison and the order match the index `entry_by_conversation` only: the primary key would lead through the
# entries of every conversation.
READ_ENTRIES = f"""
SELECT e.* FROM unnest(%(conversations)s::bigint[], %(after)s::bigint[]) AS c(id, after)
CROSS JOIN LATERAL (
    SELECT {_COLUMNS} FROM companion_transcriptentry e
    WHERE e.conversation_id = c.id AND (e.conversation_id, e.id) > (c.id, c.after) AND {_IS_SHOWN}
    ORDER BY e.conversation_id, e.id LIMIT {MAX_ENTRIES_READ}
) e
"""

# Those between the turns of a page: after turn `first` and those behind it, and before turn `before`. The newest entry
# before the page comes along.
READ_PAGE_ENTRIES = f"""
SELECT e.* FROM unnest(%(conversations)s::bigint[], %(first)s::bigint[], %(before)s::bigint[]) AS c(id, first, before)
CROSS JOIN LATERAL (
    (SELECT {_COLUMNS} FROM companion_transcriptentry e
     WHERE e.conversation_id = c.id AND e.after_turn >= c.first AND e.after_turn < c.before AND {_IS_SHOWN}
     ORDER BY e.conversation_id DESC, e.after_turn DESC, e.id DESC LIMIT {MAX_ENTRIES_OF_PAGE})
    UNION ALL
    (SELECT {_COLUMNS} FROM companion_transcriptentry e
     WHERE e.conversation_id = c.id AND e.after_turn < c.first AND {_IS_SHOWN}
     ORDER BY e.conversation_id DESC, e.after_turn DESC, e.id DESC LIMIT 1)
) e
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEntry:
    """An entry to insert. `decide_s`: seconds in which its wording may still change, and it is not shown."""

    conversation: int
    kind: EntryKind
    text: str
    key: UUID | None = None
    person: int | None = None
    name: str = ""
    version: str = ""
    flag: int | None = None
    decide_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredEntry:
    """The entry of a key. `is_new` is false when the key had been seen before."""

    entry: int
    is_new: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentLine:
    """A drafted line that was stored a moment ago."""

    entry: int
    text: str


async def find_recent(
    cursor: AsyncCursor[Row], conversation: int, *, kind: EntryKind, within_s: float
) -> RecentLine | None:
    """Return the last entry of this kind if it is so young, in seconds."""
    facts = {"conversation": conversation, "kind": kind.value, "within_s": within_s}
    await cursor.execute(FIND_RECENT, facts)
    row = await cursor.fetchone()
    return None if row is None else RecentLine(entry=row[0], text=row[1])


async def lock_control(cursor: AsyncCursor[Row], conversation: int) -> bool:
    """Lock who may speak until the transaction ends. False: the conversation is erased."""
    await cursor.execute(LOCK_CONTROL, {"conversation": conversation})
    return await cursor.fetchone() is not None


async def insert_entry(cursor: AsyncCursor[Row], entry: NewEntry) -> StoredEntry | None:
    """Store an entry. This transaction has locked the control row. None: the conversation is erased."""
    await cursor.execute(
        INSERT_ENTRY,
        {
            "conversation": entry.conversation,
            "kind": entry.kind.value,
            "key": entry.key,
            "person": entry.person,
            "name": entry.name,
            "text": entry.text,
            "version": entry.version,
            "flag": entry.flag,
            "decide_s": entry.decide_s,
        },
    )
    if row := await cursor.fetchone():
        return StoredEntry(entry=row[0], is_new=True)
    await cursor.execute(FIND_ENTRY, {"conversation": entry.conversation, "key": entry.key})
    found = await cursor.fetchone()
    return None if found is None else StoredEntry(entry=found[0], is_new=False)


async def read_entries(cursor: AsyncCursor[Row], after: dict[int, int]) -> list[EntryView]:
    """Return the next entries by conversation, oldest first. `after` maps a conversation to its last known entry.

    At most `MAX_ENTRIES_READ` of each. One whose `wait_s` is not 0 may not be shown yet, nor may those after it.
    """
    await cursor.execute(READ_ENTRIES, {"conversations": list(after), "after": list(after.values())})
    return [make_entry(row) for row in await cursor.fetchall()]


def make_entry(row: Row) -> EntryView:
    """The entry of a row that one of the statements above returned."""
    entry, conversation, kind, key, name, text, at, after_turn, wait_s = row
    return EntryView(
        entry=entry,
        conversation=conversation,
        kind=kind,
        key=key,
        name=name,
        text=text,
        at=at,
        after_turn=after_turn,
        wait_s=wait_s,
    )
