"""Makes a backup: a dump and the manifest of the same snapshot, renamed when complete."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from ops.backups.archive import encryption, manifest, rotation, stored_backups
from ops.backups.archive.capture import Capture, Source, capture
from ops.backups.archive.sealing import seal
from ops.backups.connecting import in_use
from ops.backups.connecting.address import Address
from ops.backups.programs import age, dump, tools
from ops.backups.restoring import leftovers, preflight, restore_spec, run_notes
from ops.backups.restoring.order import RunEnvironment, name_scratch
from ops.backups.restoring.restore_spec import RestoreSpec
from ops.backups.run.error_mapping import (
    blame_source,
    describe_os_error,
    map_database_error,
    map_system_error,
)
from ops.backups.run.errors import CouldNotRun, DrillInterrupted, SourceChanged
from ops.backups.run.monitor import RunMonitor
from ops.backups.run.run_folder import Marker, RunFolder

SEALED_FOLDER = "sealed"
ENCRYPTED_FOLDER = "encrypted"


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupOrder:
    """The options of one backup. `keep`: number of complete backups to keep; 0 keeps all."""

    source: Address
    into: Path
    key: str = field(repr=False)
    """Signs the manifest."""
    recipients: str = ""
    """Public keys of age, one a line. The backup is encrypted for them; with none it is not."""
    keep: int = 14
    jobs: int = 2
    bin: Path | None = None
    setting: str = "DIRECT_DATABASE_URL"
    in_use: Address | None = None
    """The address the service uses, if it differs from the source's."""
    state: Path | None = None
    """The state folder, for the note of the run's folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupResult:
    """A finished backup."""

    path: Path
    rows: int
    bytes: int
    seconds: dict[str, float]
    removed: tuple[str, ...]
    stuck: tuple[str, ...] = ()
    """Old backups that could not be removed, each with the reason."""
    in_use_doubt: str = ""
    """Why the source may not be the database in use."""
    left_alone: tuple[str, ...] = ()
    """Other entries of the folder, neither counted nor removed, each with the reason."""


def back_up(
    order: BackupOrder, monitor: RunMonitor, environment: RunEnvironment | None = None
) -> BackupResult:
    """Make one backup. Raises DrillStopped; a failed run leaves no backup and removes none."""
    environment = environment or RunEnvironment()
    into = order.into.absolute()
    try:
        with _lock_folder(into), monitor.open_cleanup_stack() as stack:
            return _make_backup(order, into, stack, monitor=monitor, environment=environment)
    except KeyboardInterrupt:
        raise DrillInterrupted(
            "A signal ended the run; no backup was made, and none was removed.", mend="Run it again."
        ) from None
    except psycopg.Error as error:
        raise map_database_error(error) from None
    except OSError as error:
        raise map_system_error(error) from None


def _make_backup(
    order: BackupOrder, into: Path, stack: ExitStack, *, monitor: RunMonitor, environment: RunEnvironment
) -> BackupResult:
    name = f"{rotation.PREFIX}{environment.now():%Y%m%dT%H%M%SZ}"
    with monitor.time_phase("preflight"):
        if (into / name).exists():
            raise CouldNotRun(f"{into / name} already exists.", mend="Wait a second, and run this again.")
        ready = _prepare(order, into, stack, environment=environment)
    taken = _capture_source(ready, jobs=order.jobs, monitor=monitor)
    made_at = environment.now()
    with monitor.time_phase("manifest"):
        # In the run's folder, which the next run removes if this one is killed.
        sealed = seal(
            taken.archive,
            ready.folder.path / SEALED_FOLDER,
            fingerprint=taken.fingerprint,
            identity=ready.spec.identity,
            made_at=made_at,
            pg_dump=ready.tools.version,
            key=order.key,
            tick=monitor.tick,
        )
        # Before the rename below: the size of a folder is read from its files.
        whole, size = sealed.path.parent, sealed.bytes
    if order.recipients:
        with monitor.time_phase("encrypt"):
            whole, encrypted = whole.with_name(ENCRYPTED_FOLDER), whole
            size = encryption.encrypt(
                encrypted,
                whole,
                recipients=order.recipients,
                key=order.key,
                folder=ready.folder,
                tick=monitor.tick,
            )
    made = rotation.StoredBackup(name=name, made_at=made_at, source=ready.spec.name)
    # After the rename the backup exists, so a signal must no longer report that none was made.
    with monitor.defer_signals():
        whole.rename(into / name)
        stored, left_alone = stored_backups.list_backups(into, made_by=made)
        surplus = rotation.select_surplus(stored, just_made=made, keep=order.keep)
        removed, stuck = _remove_backups(into, surplus, by_way_of=ready.folder.path)
    return BackupResult(
        path=into / name,
        rows=taken.fingerprint.rows,
        bytes=size,
        seconds=dict(monitor.seconds),
        removed=tuple(removed),
        stuck=tuple(stuck),
        left_alone=tuple(left_alone),
        in_use_doubt=ready.in_use_doubt,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _ReadyRun:
    """What a backup works with once every check has passed."""

    source: Source
    spec: RestoreSpec
    tools: tools.Tools
    folder: RunFolder
    in_use_doubt: str


def _prepare(order: BackupOrder, into: Path, stack: ExitStack, *, environment: RunEnvironment) -> _ReadyRun:
    """Check source, programs and disk, then create the run's folder. The stack removes and closes."""
    work = into / ".work"
    _check_encryption(order, into)
    source = restore_spec.open_checked_source(order.source, setting=order.setting, in_use=order.in_use)
    stack.callback(source.session.close)
    with blame_source():
        spec = restore_spec.describe_source(source)
    doubt = ""
    if in_use.has_heartbeats(source.session):
        doubt = in_use.find_doubt(source.session, sleep=environment.sleep)
    programs = tools.find_tools(spec.identity.major, tools.list_folders(order.bin), server=False)
    # Before the disk is measured: what killed runs left there may be as large as this dump.
    leftovers.clean_folders(work)
    # An encrypted backup lies beside its dump until it is whole.
    size = spec.estimated_bytes * (2 if order.recipients else 1)
    preflight.check_work_disk(into, size, dump=True, copy=False, free=environment.free, option="--to")
    folder = _create_folder(
        order.state, work, Marker(run=environment.draw_run_name(), source=spec.name, scratch=""), stack
    )
    return _ReadyRun(source=source, spec=spec, tools=programs, folder=folder, in_use_doubt=doubt)


def _check_encryption(order: BackupOrder, into: Path) -> None:
    """Raise CouldNotRun if age is missing, or if a setting was lost by which earlier backups were encrypted."""
    if order.recipients:
        age.find_age()
    elif (other := stored_backups.find_encrypted(into)) is not None:
        raise CouldNotRun(
            f"{other} is encrypted, and this backup would not be: {age.RECIPIENTS_SETTING} is not set.",
            mend="Set it, or keep backups that are not encrypted in a folder of their own, with --to.",
        )


def _create_folder(state: Path | None, work: Path, marker: Marker, stack: ExitStack) -> RunFolder:
    if state is not None:
        # Written before the folder exists, so that the next run finds what a killed one has left.
        run = work / name_scratch(marker.run)
        noted = run_notes.write_note(state, run, marker)
        stack.callback(lambda: noted.close(keep=run.exists()))
    folder = RunFolder.create(work, marker)
    stack.callback(folder.remove)
    return folder


def _capture_source(ready: _ReadyRun, *, jobs: int, monitor: RunMonitor) -> Capture:
    """Dump the source, and read the whole dump once. Raises SourceChanged if a migration ran meanwhile."""
    with blame_source():
        taken = capture(
            ready.source,
            ready.folder.path / manifest.DUMP,
            tools=ready.tools,
            jobs=jobs,
            folder=ready.folder,
            monitor=monitor,
        )
    if taken.changed_meanwhile:
        raise SourceChanged(
            "The tables were changed during the dump: a migration ran.", mend="Run this again now."
        )
    with monitor.time_phase("read through"):
        dump.read_through(ready.tools, taken.archive, folder=ready.folder, tick=monitor.tick)
    return taken


def _remove_backups(into: Path, names: Iterable[str], *, by_way_of: Path) -> tuple[list[str], list[str]]:
    """Remove backups; return the removed ones, and the others with reasons. Raises no OSError."""
    gone, stuck = [], []
    for name in names:
        try:
            # Move it away first: a backup that is partly removed must not look complete.
            doomed = (into / name).rename(by_way_of / name)
            shutil.rmtree(doomed)
            gone.append(name)
        except OSError as error:
            stuck.append(f"{into / name}: {describe_os_error(error)}")
    return gone, stuck


@contextlib.contextmanager
def _lock_folder(into: Path) -> Iterator[None]:
    """Lock the folder against a second backup at the same time. Raises CouldNotRun."""
    try:
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(into / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CouldNotRun(
            f"{into} cannot be used: {describe_os_error(error)}.", mend="Name another with --to."
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CouldNotRun(
            f"Another backup into {into} is running.", mend="Wait until it has finished."
        ) from None
    finally:
        os.close(lock)
