"""PURE: what is wrong with a database, from what it says about itself."""

from collections.abc import Iterator

from django.core.checks import CheckMessage, Error, Info, Warning

from ops.preflight.database_facts import OLDEST_MAJOR, ConnectionFacts, DatabaseFacts
from ops.preflight.pooling import Pooling

MAX_CLOCK_DIFFERENCE_S = 5.0
FOLDED_LOCALES = ("C", "POSIX")
"""In these, only ASCII letters have an upper and a lower case."""
DIRECT_ADDRESS = "the server's own host and port (usually 5432)"


def find_refusals(facts: ConnectionFacts) -> Iterator[CheckMessage]:
    """What no start can go on with, and only a person can correct. A process ends with exit code 78."""
    if facts.major < OLDEST_MAJOR:
        yield Error(
            f"The database is PostgreSQL {facts.major}, and this release needs {OLDEST_MAJOR} or newer.",
            hint=f"Move the data to a server of PostgreSQL {OLDEST_MAJOR} or newer with pg_upgrade or a dump.",
            id="companion.E021",
        )
    if facts.pooling is Pooling.TRANSACTION:
        yield Error(
            "DATABASE_URL leads through a connection pooler that gives each transaction another session of the server "
            "(PgBouncer: pool_mode = transaction). Notifications do not arrive through it, and prepared statements "
            "are lost.",
            hint=f"Set DATABASE_URL to {DIRECT_ADDRESS}, or give the pooler pool_mode = session for this database.",
            id="companion.E024",
        )
    database = facts.database
    if database is None:
        return
    if database.encoding != "UTF8":
        yield Error(
            f"The database stores text as {database.encoding}, which cannot hold what people write.",
            hint="Make a database with ENCODING 'UTF8' TEMPLATE template0, and move the data there.",
            id="companion.E022",
        )
    if database.has_tables and not database.finds_tables:
        yield Error(
            f"The role {database.role} does not find the tables: its search_path leaves out the schema public.",
            hint=f'ALTER ROLE {database.role} IN DATABASE "{database.database}" SET search_path = public;',
            id="companion.E025",
        )


def judge_database(facts: ConnectionFacts, *, connections: int) -> Iterator[CheckMessage]:
    """Everything that is wrong with it. `connections`: of one web process, at most."""
    yield from find_refusals(facts)
    if facts.pooling is Pooling.SESSION:
        yield Warning(
            "DATABASE_URL leads through a connection pooler in session mode. It works, and saves no connection: each "
            "takes one of the server for as long as it lasts.",
            hint=f"Set DATABASE_URL to {DIRECT_ADDRESS}, or let the pooler open {connections} connections for each "
            "web process (PgBouncer: default_pool_size).",
            id="companion.W020",
        )
    if abs(facts.clock_ahead_s) > MAX_CLOCK_DIFFERENCE_S:
        word = "ahead of" if facts.clock_ahead_s > 0 else "behind"
        yield Warning(
            f"The database's clock is {abs(facts.clock_ahead_s):.0f} s {word} the clock of this machine. Leases and "
            "waiting times use the database's, so no turn is lost; visits and sign-ins end too early or too late.",
            hint="Set both clocks by NTP.",
            id="companion.W025",
        )
    if facts.database is not None:
        yield from _judge_state(facts.database)
        yield from _judge_settings(facts.database)
        yield from _judge_role(facts.database)
        if facts.pooling is Pooling.DIRECT:
            yield from _judge_room(facts.database, connections)


def _judge_state(database: DatabaseFacts) -> Iterator[CheckMessage]:
    if database.is_standby:
        yield Error(
            "DATABASE_URL leads to a standby, which accepts no writes. No message can be accepted.",
            hint="Name the primary, or both servers with target_session_attrs=read-write; "
            "see ops/runbooks/the-database-moves.md.",
            id="companion.E023",
        )
    elif database.is_read_only:
        yield Error(
            f"The database accepts no writes from the role {database.role}: default_transaction_read_only is on.",
            hint="If a disk was full, make room first. Then ALTER DATABASE or ALTER ROLE … RESET "
            "default_transaction_read_only.",
            id="companion.E023",
        )


def _judge_settings(database: DatabaseFacts) -> Iterator[CheckMessage]:
    if database.is_collation_outdated:
        yield Warning(
            "The system's library has another version of the database's locale than its indexes were made with: they "
            "may not find rows that are there.",
            hint=f'REINDEX DATABASE "{database.database}"; '
            f'ALTER DATABASE "{database.database}" REFRESH COLLATION VERSION;',
            id="companion.W022",
        )
    if database.letters in FOLDED_LOCALES:
        yield Warning(
            f"The database's locale is {database.letters}. A search by name finds accented letters only as they were "
            "typed, and lists sort them last.",
            hint="Make the database with LOCALE 'C.UTF-8' or a locale of your language, and move the data there.",
            id="companion.W021",
        )
    if database.session_limits:
        named = " and ".join(database.session_limits)
        yield Warning(
            f"The database limits sessions or statements by {named}, which breaks connections that wait for work.",
            hint=" ".join(f"ALTER ROLE {database.role} SET {name} = 0;" for name in database.session_limits),
            id="companion.W023",
        )
    if database.unsafe_settings:
        named = " and ".join(database.unsafe_settings)
        yield Warning(
            f"On the database, off: {named}. Words that were shown may be lost when the server crashes.",
            hint="Set it to on in postgresql.conf and reload the server.",
            id="companion.W024",
        )
    if database.time_zone != "UTC":
        yield Info(
            f"The database's time zone is {database.time_zone}. Times are stored with their zone, so this changes "
            "nothing but the server's own log.",
            id="companion.I020",
        )


def _judge_role(database: DatabaseFacts) -> Iterator[CheckMessage]:
    if missing := database.tables_without_rights:
        yield Error(
            f"The role {database.role} may not use rows of {len(missing)} tables or sequences, {missing[0]} among "
            "them.",
            hint=f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {database.role}; "
            f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {database.role};",
            id="companion.E026",
        )
    if database.is_superuser or database.owns_tables:
        what = "is a superuser" if database.is_superuser else "owns the tables"
        yield Warning(
            f"The service connects as {database.role}, which {what}. It needs rows only.",
            hint="Make two roles as ops/deploy/README.md says, and name the owner in OWNER_DATABASE_URL.",
            id="companion.W026",
        )


def _judge_room(database: DatabaseFacts, connections: int) -> Iterator[CheckMessage]:
    free = database.connections_allowed - database.connections_used
    if free < connections:
        yield Warning(
            f"The database has {free} of {database.connections_allowed} connections left, and one more web process "
            f"needs up to {connections}.",
            hint="Raise max_connections, or run fewer processes.",
            id="companion.W027",
        )
