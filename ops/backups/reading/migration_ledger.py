"""The migration ledger, in the order in which migrations were applied."""

from ops.backups.connecting.session import Session

TABLE = "public.django_migrations"


def has_ledger(session: Session) -> bool:
    """Return whether the ledger's table exists, as in every database of the service."""
    row = session.execute("SELECT to_regclass(%s) IS NOT NULL", [TABLE]).fetchone()
    return bool(row and row[0])


def read(session: Session) -> tuple[str, ...]:
    """Read "app.name" of every applied migration; empty without a ledger."""
    if not has_ledger(session):
        return ()
    rows = session.execute(f"SELECT app || '.' || name FROM {TABLE} ORDER BY id".encode())
    return tuple(row[0] for row in rows)
