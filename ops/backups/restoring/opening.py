"""Decrypts an encrypted backup for the time of a drill, into a private folder that a killed run leaves to the next."""

from contextlib import ExitStack
from pathlib import Path

from ops.backups.archive import encryption
from ops.backups.programs import age
from ops.backups.restoring import leftovers, preflight, run_notes
from ops.backups.restoring.order import DrillOrder, RunEnvironment, name_scratch
from ops.backups.run.monitor import RunMonitor
from ops.backups.run.run_folder import Marker, RunFolder, make_work_folder

DECRYPTED_FOLDER = "decrypted"
"""Under the work folder: beside the folders of drills, which look through their own."""


def open_encrypted(
    order: DrillOrder, backup: Path, stack: ExitStack, *, monitor: RunMonitor, environment: RunEnvironment
) -> Path:
    """Decrypt the backup and return the folder, which the stack removes. Raises CouldNotRun or ArchiveDamaged."""
    facts = encryption.read_signed(backup, order.key, trust=order.trust)
    age.find_age()
    identity = age.require_identity(order.identity, backup=backup)
    work = order.work_folder / DECRYPTED_FOLDER
    # Before the disk is measured: what killed runs left there may be as large as this backup.
    leftovers.clean_folders(work)
    preflight.check_disk(
        order.work_folder,
        preflight.MIN_FREE_BYTES + facts.encrypted.bytes,
        free=environment.free,
        option="--work",
    )
    name = environment.draw_run_name()
    marker = Marker(run=name, source=facts.source_name, scratch=name_scratch(name))
    # Written before the folder exists, so that the next run finds what a killed one has left.
    noted = run_notes.write_note(order.state, work / name_scratch(name), marker)
    stack.callback(lambda: noted.close(keep=(work / name_scratch(name)).exists()))
    # Each by itself, because the private server's account must pass through the outer one.
    make_work_folder(order.work_folder)
    folder = RunFolder.create(work, marker)
    stack.callback(folder.remove)
    opened = folder.path / backup.name
    encryption.decrypt(backup, facts, opened, identity=identity, folder=folder, tick=monitor.tick)
    return opened
