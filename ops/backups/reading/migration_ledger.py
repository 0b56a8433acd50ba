"""The migration ledger as a list, in the order the migrations were applied."""

from ops.backups.connecting.session import Session

TABLE = "public.django_migrations"


def is_there(session: Session) -> bool:
    """Whether this is a database of the service at all."""
    row = session.execute("SELECT to_regclass(%s) IS NOT NULL", [TABLE]).fetchone()
    return bool(row and row[0])


def read(session: Session) -> tuple[str, ...]:
    """ "app.name" of every applied migration; empty where there is no ledger."""
    if not is_there(session):
        return ()
    rows = session.execute(f"SELECT app || '.' || name FROM {TABLE} ORDER BY id".encode())
    return tuple(row[0] for row in rows)
