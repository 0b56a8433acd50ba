"""A backup that carries its own proof: a dump and the manifest of the same snapshot, renamed when whole."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg

from ops.drill import dump, leftovers, manifest, preflight, rotation, tools, wanted
from ops.drill.address import Address
from ops.drill.capture import capture
from ops.drill.errors import CouldNotRun, Unsettled
from ops.drill.folder import Marker, RunFolder
from ops.drill.foreign import told, told_by_system
from ops.drill.order import World
from ops.drill.watch import Watch


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupOrder:
    """One backup. `keep`: how many whole ones stay; 0 keeps them all."""

    source: Address
    into: Path
    keep: int = 14
    jobs: int = 2
    bin: Path | None = None
    setting: str = "DIRECT_DATABASE_URL"
    in_use: Address | None = None
    """The address the service uses, where it is another one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """What a backup came to."""

    path: Path
    rows: int
    bytes: int
    seconds: dict[str, float]
    removed: tuple[str, ...]


def back_up(order: BackupOrder, watch: Watch, world: World | None = None) -> Made:
    """Make one backup. Raises DrillStopped; a run that fails leaves no backup and removes none."""
    world = world or World()
    into = order.into.absolute()
    with _alone(into), ExitStack() as stack:
        try:
            return _make(order, into, stack, watch=watch, world=world)
        except psycopg.Error as error:
            raise told(error) from None
        except OSError as error:
            raise told_by_system(error) from None


def _make(order: BackupOrder, into: Path, stack: ExitStack, *, watch: Watch, world: World) -> Made:
    name = f"{rotation.PREFIX}{world.now():%Y%m%dT%H%M%SZ}"
    work = into / ".work"
    with watch.phase("preflight"):
        source = wanted.open_right_source(order.source, setting=order.setting, in_use=order.in_use)
        stack.callback(source.session.close)
        needed = wanted.of_source(source)
        programs = tools.find(needed.identity.major, tools.places(order.bin), server=False)
        leftovers.clean_folders(work)
        for left in rotation.abandoned(os.listdir(into), own=""):
            shutil.rmtree(into / left)
        preflight.check_room(into, needed.size_guessed, dump=True, copy=False, free=world.free)
        folder = RunFolder.make(work, Marker(run=world.run_name(), source=needed.name, scratch=""))
        stack.callback(_remove, folder, watch)
    taken = capture(
        source, folder.path / manifest.DUMP, tools=programs, jobs=order.jobs, folder=folder, watch=watch
    )
    if taken.changed_meanwhile:
        raise Unsettled(
            "The tables were changed while they were dumped: a migration ran.", mend="Run this again now."
        )
    with watch.phase("read through"):
        dump.read_through(programs, taken.archive, folder=folder, tick=watch.tick)
    partial = into / f"{name}{rotation.PARTIAL}"
    stack.callback(shutil.rmtree, partial, ignore_errors=True)
    with watch.phase("manifest"):
        sealed = manifest.seal(
            taken.archive,
            partial,
            picture=taken.picture,
            identity=needed.identity,
            made_at=world.now(),
            pg_dump=programs.version,
            tick=watch.tick,
        )
        size = sealed.bytes
        _sync(partial)
        partial.rename(into / name)
    surplus = rotation.surplus(os.listdir(into), keep=order.keep)
    for old in surplus:
        shutil.rmtree(into / old)
    return Made(
        path=into / name,
        rows=taken.picture.rows,
        bytes=size,
        seconds=dict(watch.seconds),
        removed=tuple(surplus),
    )


def _remove(folder: RunFolder, watch: Watch) -> None:
    with watch.undisturbed():
        folder.remove()


@contextlib.contextmanager
def _alone(into: Path) -> Iterator[None]:
    """Hold the folder against a second backup at the same time. Raises CouldNotRun."""
    try:
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(into / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CouldNotRun(
            f"{into} cannot be used: {error.strerror}.", mend="Name another with --to."
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CouldNotRun("Another backup into that folder is running.", mend="Let it end.") from None
    finally:
        os.close(lock)


def _sync(folder: Path) -> None:
    """Have everything on the disk before the name appears."""
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
