"""A backup that carries its own proof: a dump and the manifest of the same snapshot, renamed when whole."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from ops.backups.archive import archive_lookup, manifest, rotation
from ops.backups.archive.capture import capture
from ops.backups.archive.sealing import seal
from ops.backups.connecting import in_use
from ops.backups.connecting.address import Address
from ops.backups.programs import dump, tools
from ops.backups.restoring import leftovers, preflight, restore_spec, whereabouts
from ops.backups.restoring.order import World, scratch_name
from ops.backups.run.error_mapping import reading_the_source, reason_of, told, told_by_system
from ops.backups.run.errors import CouldNotRun, Interrupted, Unsettled
from ops.backups.run.run_folder import Marker, RunFolder
from ops.backups.run.watch import Watch

SEALED = "sealed"


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupOrder:
    """One backup. `keep`: how many whole ones stay; 0 keeps them all."""

    source: Address
    into: Path
    key: str = field(repr=False)
    """Signs the manifest."""
    keep: int = 14
    jobs: int = 2
    bin: Path | None = None
    setting: str = "DIRECT_DATABASE_URL"
    in_use: Address | None = None
    """The address the service uses, where it is another one."""
    state: Path | None = None
    """The state folder, where it is noted which folder a run works in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """What a backup came to."""

    path: Path
    rows: int
    bytes: int
    seconds: dict[str, float]
    removed: tuple[str, ...]
    stuck: tuple[str, ...] = ()
    """Old ones that should have gone and did not, each with the reason."""
    in_use_doubt: str = ""
    """Why the source may not be the database in use."""
    left_alone: tuple[str, ...] = ()
    """What lies beside the backups and was not counted or touched, each with the reason."""


def back_up(order: BackupOrder, watch: Watch, world: World | None = None) -> Made:
    """Make one backup. Raises DrillStopped; a run that fails leaves no backup and removes none."""
    world = world or World()
    into = order.into.absolute()
    try:
        with _alone(into), watch.orderly() as stack:
            return _make(order, into, stack, watch=watch, world=world)
    except KeyboardInterrupt:
        raise Interrupted(
            "A signal ended the run; no backup was made, and none was removed.", mend="Run it again."
        ) from None
    except psycopg.Error as error:
        raise told(error) from None
    except OSError as error:
        raise told_by_system(error) from None


def _make(order: BackupOrder, into: Path, stack: ExitStack, *, watch: Watch, world: World) -> Made:
    name = f"{rotation.PREFIX}{world.now():%Y%m%dT%H%M%SZ}"
    work = into / ".work"
    with watch.phase("preflight"):
        source = restore_spec.open_right_source(order.source, setting=order.setting, in_use=order.in_use)
        stack.callback(source.session.close)
        with reading_the_source():
            needed = restore_spec.of_source(source)
        doubt = ""
        if in_use.has_beats(source.session):
            doubt = in_use.doubt(source.session, sleep=world.sleep)
        programs = tools.find(needed.identity.major, tools.places(order.bin), server=False)
        leftovers.clean_folders(work)
        preflight.check_room(into, needed.size_guessed, dump=True, copy=False, free=world.free, option="--to")
        if (into / name).exists():
            raise CouldNotRun(f"{into / name} is there already.", mend="Wait a second, and run this again.")
        marker = Marker(run=world.run_name(), source=needed.name, scratch="")
        if order.state is not None:
            run = work / scratch_name(marker.run)
            noted = whereabouts.note(order.state, run, marker)
            stack.callback(lambda: noted.close(keep=run.exists()))
        folder = RunFolder.make(work, marker)
        stack.callback(folder.remove)
    with reading_the_source():
        taken = capture(
            source, folder.path / manifest.DUMP, tools=programs, jobs=order.jobs, folder=folder, watch=watch
        )
    if taken.changed_meanwhile:
        raise Unsettled(
            "The tables were changed while they were dumped: a migration ran.", mend="Run this again now."
        )
    with watch.phase("read through"):
        dump.read_through(programs, taken.archive, folder=folder, tick=watch.tick)
    made_at = world.now()
    with watch.phase("manifest"):
        # In the run's own folder, which the next run clears if this one is killed.
        sealed = seal(
            taken.archive,
            folder.path / SEALED,
            picture=taken.picture,
            identity=needed.identity,
            made_at=made_at,
            pg_dump=programs.version,
            key=order.key,
            tick=watch.tick,
        )
        size = sealed.bytes
    made = rotation.Kept(name=name, made_at=made_at, source=needed.name)
    # From its new name on the backup is made, so a signal comes too late to say that none was.
    with watch.undisturbed():
        (folder.path / SEALED).rename(into / name)
        there, left_alone = archive_lookup.backups_in(into, made_by=made)
        surplus = rotation.surplus(there, just_made=made, keep=order.keep)
        removed, stuck = _remove(into, surplus, by_way_of=folder.path)
    return Made(
        path=into / name,
        rows=taken.picture.rows,
        bytes=size,
        seconds=dict(watch.seconds),
        removed=tuple(removed),
        stuck=tuple(stuck),
        left_alone=tuple(left_alone),
        in_use_doubt=doubt,
    )


def _remove(into: Path, names: Iterable[str], *, by_way_of: Path) -> tuple[list[str], list[str]]:
    """Remove these; returns those that are gone, and those that are not with the reason. Never fails a backup."""
    gone, stuck = [], []
    for name in names:
        try:
            # Moved away first: a backup of which half is gone must not look like one.
            doomed = (into / name).rename(by_way_of / name)
            shutil.rmtree(doomed)
            gone.append(name)
        except OSError as error:
            stuck.append(f"{into / name}: {reason_of(error)}")
    return gone, stuck


@contextlib.contextmanager
def _alone(into: Path) -> Iterator[None]:
    """Hold the folder against a second backup at the same time. Raises CouldNotRun."""
    try:
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(into / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CouldNotRun(
            f"{into} cannot be used: {reason_of(error)}.", mend="Name another with --to."
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CouldNotRun(f"Another backup into {into} is running.", mend="Let it end.") from None
    finally:
        os.close(lock)
