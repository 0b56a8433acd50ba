"""What is known about one side of a comparison: frozen values that hold no stored value of any row."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Bucket = tuple[int, int, int]
"""(rows, first sum, second sum): the sums are of row hashes with two seeds."""

Entry = Mapping[str, str]
"""One object of the catalogue: {part: text}."""
Catalogue = Mapping[str, Mapping[str, Entry]]
"""{kind: {name: entry}}."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableSum:
    """The content of one table. Rows are spread over buckets by key, so that differences can be counted."""

    rows: int
    buckets: Mapping[int, Bucket]
    bytes: int = field(default=0, compare=False)
    """Size on disk with indexes and TOAST. Differs between two equal copies, so it is not compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SequencePosition:
    """The position of a sequence before and after a dump.

    Snapshots do not cover sequences: a faithful copy stands anywhere from `before` to `after`.
    """

    increment: int
    before: int
    after: int
    owned_by: str = ""
    """SQL that reads the furthest value of the column it feeds; empty without such a column."""
    reached: int | None = None
    """The furthest value in that column, if it was read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseIdentity:
    """One database of one cluster. `system` is the cluster's system identifier."""

    system: str
    database: str
    server: str
    """Server version, such as "18.6"."""
    bytes: int

    @property
    def major(self) -> int:
        """Major version: 15, 16, 17, 18 …"""
        return int(self.server.split(".")[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """Everything that a drill compares about one database."""

    tables: Mapping[str, TableSum]
    catalogue: Catalogue
    ledger: tuple[str, ...]
    """Applied migrations in order, as "app.name"."""
    sequences: Mapping[str, SequencePosition]
    materialized: Mapping[str, TableSum] = field(default_factory=dict)
    """Materialized views. A restore recomputes them, so their rows are reported and not compared."""
    roles: tuple[str, ...] = ()
    """Roles that own or are granted something. A dump names them but does not create them."""
    uncompared: Mapping[str, int] = field(default_factory=dict)
    """{kind: count} of what the database has and no comparison covers: settings, foreign tables …"""

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(table.rows for table in self.tables.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One difference of the copy from the source: kind, name and a sentence; never a value."""

    kind: str
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.what}"
