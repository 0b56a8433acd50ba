"""What is known about one side of a comparison: plain, frozen, without a single stored value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Bucket = tuple[int, int, int]
"""Rows, and two sums of row hashes."""

Entry = Mapping[str, str]
"""One object of the catalogue: part to text."""
Catalogue = Mapping[str, Mapping[str, Entry]]
"""Kind to name to entry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableSum:
    """The content of one table. The buckets part the rows by key, so that a difference can be counted."""

    rows: int
    buckets: Mapping[int, Bucket]
    bytes: int = field(default=0, compare=False)
    """On disk, indexes and TOAST included; differs between two equal copies."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sequence:
    """Where a sequence stood. Sequences obey no snapshot: a right copy lies from `before` to `after`."""

    increment: int
    before: int
    after: int
    owned_by: str = ""
    """The column it feeds, as SQL, or empty."""
    reached: int | None = None
    """The furthest value in that column, where it was looked up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Which database of which cluster. `system` is the cluster's own number."""

    system: str
    database: str
    server: str
    """The server's version, "18.6"."""
    bytes: int

    @property
    def major(self) -> int:
        """15, 16, 17, 18 …"""
        return int(self.server.split(".")[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """Everything that is compared."""

    tables: Mapping[str, TableSum]
    catalogue: Catalogue
    ledger: tuple[str, ...]
    """The applied migrations in order, "app.name"."""
    sequences: Mapping[str, Sequence]
    materialized: Mapping[str, TableSum] = field(default_factory=dict)
    """Materialized views: a restore computes them anew, so their rows are information."""
    roles: tuple[str, ...] = ()
    """Roles that own something or are granted something; a dump names them and does not hold them."""
    asides: Mapping[str, int] = field(default_factory=dict)
    """What is in the database and in no comparison: settings, foreign tables …, each with a count."""

    @property
    def rows(self) -> int:
        """Over all tables."""
        return sum(table.rows for table in self.tables.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One thing that is not as it was: kind and name, never a value."""

    kind: str
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.what}"
