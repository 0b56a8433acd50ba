"""PURE: lists what a run has not proved, from its options and results. Always printed (D5)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ops.backups.reporting.verdict import Level
from ops.backups.run.facts import Fingerprint

Where = Literal["private server", "target", "same server"]
SMALL_DATABASE_BYTES = 1_000_000_000
MAX_LISTED_TABLES = 12
ALWAYS = (
    "owner, grants, connection limit and comment of the database itself: CREATE DATABASE makes them, not a dump "
    "(check_restored compares the first three after a restore for real)",
    "roles and their passwords: they belong to the cluster, and no dump of a database contains them",
    "media and other files outside the database",
    "point-in-time recovery: a restore goes back to the time of the dump",
    "the copy that is kept elsewhere: only files on this machine were read",
    "secrets: without SECRET_KEY cards and sessions end, and an encrypted copy cannot be opened without its key",
    "the application's start on the copy (runbook restore-for-real ends with that)",
)
NOTHING_PROVED = "anything at all about this backup: the run ended before a copy could be compared"
UNCOMPARED: Mapping[str, str] = {
    "database settings": "ALTER DATABASE … SET is in no dump taken this way; check_restored compares them",
    "foreign tables": "their rows are stored elsewhere",
    "user mappings": "only their existence was compared; their options contain passwords, and a dump has only those "
    "that its role may read",
    "extensions": "their owner and their own objects: CREATE EXTENSION makes them, for the role that restores",
    "subscriptions": "not restored, because they would connect to their publisher",
    "objects in tablespaces": "restored into the default tablespace",
    "tables of extensions": "CREATE EXTENSION makes them; their rows are not dumped",
    "security labels": "not compared",
    "other databases": "each needs a drill of its own",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSummary:
    """Options and results of a run, as far as they limit its proof."""

    level: Level
    where: Where
    no_owner: bool
    source: Fingerprint | None
    """None if the run ended before it was known."""
    bytes: int = 0
    compared: bool = True
    """Whether the copy was compared; a run that ended before has proved nothing."""
    in_use_doubt: str = ""
    """Why the source may not be the database in use."""
    is_signed: bool = True
    is_encrypted: bool = False
    """Whether the backup was decrypted for the run."""
    age_days: int | None = 0
    """Whole days between the data and the drill; None if unknown."""


def list_not_proved(run: RunSummary) -> list[str]:
    """Return the list, the most specific first."""
    if not run.compared:
        return [NOTHING_PROVED, *ALWAYS]
    return [*_list_by_level(run), *_list_by_place(run), *_list_by_content(run), *ALWAYS]


def _list_by_level(run: RunSummary) -> Iterator[str]:
    if run.in_use_doubt:
        yield f"that this is the database in use: {run.in_use_doubt}. The drill does not count as a proof"
    if run.age_days:
        days = f"{run.age_days} day{'s' if run.age_days > 1 else ''}"
        yield f"anything newer than this backup, which was {days} old: the proof covers nothing later"
    if run.age_days is None and run.level == "B":
        yield (
            "how old these data are: the manifest names a time later than this drill, so a clock was wrong. "
            "The drill does not count as a proof"
        )
    if run.level == "A":
        yield "last night's backup: this was a dump made for the drill (drill that backup with --backup)"
    if run.level == "C":
        yield "that the copy equals anything: the file came without a manifest, so it only restores"
    if run.level == "B" and run.is_signed:
        yield "that only this service knows the key which signs backups"
    elif run.level == "B":
        yield "that this service made it: the manifest was trusted without a signature (--trust)"
    if run.is_encrypted:
        yield "that the identity which opens it is kept anywhere else than where this drill read it"
    elif run.level == "B":
        yield "that a person who finds this backup cannot read it: it is stored unencrypted"
    if run.no_owner:
        yield "owners and grants: they were left out (--no-owner)"


def _list_by_place(run: RunSummary) -> Iterator[str]:
    if run.where == "same server":
        yield "that it restores on a server of its own: the live server provided roles, settings and extensions"
    elif run.where == "private server":
        yield (
            "the restore time of the machine you would really use: this was a private server on this machine, "
            "configured for loading"
        )


def _list_by_content(run: RunSummary) -> Iterator[str]:
    if run.source is None:
        return
    empty = sorted(name for name, table in run.source.tables.items() if table.rows == 0)
    empty = [name for name in empty if name != "large objects"]
    if empty:
        more = f" and {len(empty) - MAX_LISTED_TABLES} more" if len(empty) > MAX_LISTED_TABLES else ""
        yield f"the content of {len(empty)} tables without a row: {', '.join(empty[:MAX_LISTED_TABLES])}{more}"
    if run.bytes < SMALL_DATABASE_BYTES:
        yield (
            f"the restore time of a large database: this one has {run.bytes / 1_000_000:.0f} MB, "
            "too small to tell"
        )
    for name, count in sorted(run.source.uncompared.items()):
        yield f"{count} {name}: {UNCOMPARED[name]}"
