"""The type of a row, as psycopg returns it. The statement says what its columns are."""

from typing import Any

Row = tuple[Any, ...]
