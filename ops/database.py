"""Django's connection: one statement that sockets share or that the ORM cannot write, and giving it back early."""

from typing import Any

from django.db import connection


def give_back_connection() -> None:
    """Let other pages have the connection while this one waits for something else; the pool is small."""
    if not connection.in_atomic_block:
        connection.close()


def fetch_all(statement: str, facts: Any = None) -> list[tuple[Any, ...]]:
    """Return every row. `facts` are the parameters, by name or by place."""
    with connection.cursor() as cursor:
        cursor.execute(statement, facts)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def fetch_one(statement: str, facts: Any = None) -> tuple[Any, ...] | None:
    """Return the first row; None: there is none."""
    with connection.cursor() as cursor:
        cursor.execute(statement, facts)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


def fetch_count(statement: str, facts: Any = None) -> int:
    """Return the number that a statement gives."""
    return int(fetch_all(statement, facts)[0][0])


def execute(statement: str, facts: Any = None) -> int:
    """Run a change; return how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, facts)
        return int(cursor.rowcount)
