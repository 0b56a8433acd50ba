"""PURE: what a run has not proved, computed from what it was and what it found. Always printed (D5)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ops.backups.reporting.verdict import Level
from ops.backups.run.facts import Picture

Where = Literal["private server", "target", "same server"]
SMALL_BYTES = 1_000_000_000
LISTED = 12
ALWAYS = (
    "owner, grants, connection limit and comment of the database itself: CREATE DATABASE makes them, not a dump "
    "(check_restored compares the first three after a restore for real)",
    "roles and their passwords: they are the cluster's, and in no dump of a database",
    "media and other files outside the database",
    "point-in-time recovery: a restore goes back to the moment of the dump, no nearer",
    "the copy that is kept elsewhere: only what lies on this machine was read",
    "secrets: without SECRET_KEY cards and sessions end, and a copy elsewhere cannot be opened without its key",
    "the application's start on the copy (runbook restore-for-real ends with that)",
)
ANYTHING = "anything at all about this backup: the run ended before a copy could be compared"
ASIDES: Mapping[str, str] = {
    "database settings": "ALTER DATABASE … SET is in no dump taken this way; check_restored compares them",
    "foreign tables": "their rows live elsewhere",
    "user mappings": "that they are there was compared; their options hold passwords, and a dump has only those "
    "that its role may read",
    "extensions": "their owner and their own objects: CREATE EXTENSION makes them, for the role that restores",
    "subscriptions": "not restored, because they would call their publisher",
    "objects in tablespaces": "restored into the default tablespace",
    "tables of extensions": "CREATE EXTENSION makes them; their rows are not dumped",
    "security labels": "not compared",
    "other databases": "each needs a drill of its own",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What a run was."""

    level: Level
    where: Where
    no_owner: bool
    source: Picture | None
    """None when the run never got so far."""
    bytes: int = 0
    compared: bool = True
    """Whether it came to the comparison; one that stopped before has proved nothing at all."""
    in_use_doubt: str = ""
    """Why the source may not be the database in use."""
    is_signed: bool = True
    age_days: int | None = 0
    """Whole days between the data and the drill; None: unknown."""


def not_proved(run: Run) -> list[str]:
    """The list, most specific first."""
    if not run.compared:
        return [ANYTHING, *ALWAYS]
    return [*_by_level(run), *_by_place(run), *_by_content(run), *ALWAYS]


def _by_level(run: Run) -> Iterator[str]:
    if run.in_use_doubt:
        yield f"that this is the database in use: {run.in_use_doubt}. The drill does not count as a proof"
    if run.age_days:
        days = f"{run.age_days} day{'s' if run.age_days > 1 else ''}"
        yield f"anything newer than this backup, which was {days} old: the proof is worth no more than that"
    if run.age_days is None and run.level == "B":
        yield (
            "how old these data are: the manifest names a time later than this drill, so a clock was wrong. "
            "The drill does not count as a proof"
        )
    if run.level == "A":
        yield "last night's backup: this was a dump made for the drill (drill the other with --backup)"
    if run.level == "C":
        yield "that the copy equals anything: the file came without a manifest, so it only restores"
    if run.level == "B" and run.is_signed:
        yield "that the key which signs backups is known to this service alone"
    elif run.level == "B":
        yield "that this service made it: the manifest was trusted without a signature (--trust)"
    if run.no_owner:
        yield "owners and grants: they were left out (--no-owner)"


def _by_place(run: Run) -> Iterator[str]:
    if run.where == "same server":
        yield "that it restores on a server of its own: roles, settings and extensions of the live one were at hand"
    elif run.where == "private server":
        yield (
            "the restore time of the machine you would really use: this was a private server on this machine, "
            "set up for loading"
        )


def _by_content(run: Run) -> Iterator[str]:
    if run.source is None:
        return
    empty = sorted(name for name, table in run.source.tables.items() if table.rows == 0)
    empty = [name for name in empty if name != "large objects"]
    if empty:
        more = f" and {len(empty) - LISTED} more" if len(empty) > LISTED else ""
        yield f"the content of {len(empty)} tables without a row: {', '.join(empty[:LISTED])}{more}"
    if run.bytes < SMALL_BYTES:
        yield (
            f"the restore time of a large database: this one has {run.bytes / 1_000_000:.0f} MB, "
            "and small ones say little"
        )
    for name, count in sorted(run.source.asides.items()):
        yield f"{count} {name}: {ASIDES[name]}"
