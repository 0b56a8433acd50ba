"""The restore drill: check, dump, restore, compare, clean up, report what was proved and what was not (D1)."""

from contextlib import ExitStack
from dataclasses import replace

from ops.backups.archive import manifest, stored_backups
from ops.backups.archive.capture import Capture, Source, capture
from ops.backups.archive.sealing import seal
from ops.backups.comparing.compare import compare, list_remarks
from ops.backups.comparing.deparse import Settler
from ops.backups.connecting import in_use
from ops.backups.findings import DrillFindings, make_report
from ops.backups.programs import dump, tools
from ops.backups.programs.tools import Tools
from ops.backups.reading import fingerprint
from ops.backups.reading.inventory import list_tables
from ops.backups.reporting.report import Report
from ops.backups.restoring import leftovers, opening, place, preflight, restore_spec, run_notes
from ops.backups.restoring.leftovers import CleaningResult
from ops.backups.restoring.order import DrillOrder, RunEnvironment, name_scratch
from ops.backups.restoring.place import Place
from ops.backups.restoring.restore_spec import RestoreSpec
from ops.backups.restoring.scratch import Scratch
from ops.backups.run import error_mapping
from ops.backups.run.error_mapping import map_error
from ops.backups.run.errors import DoesNotRestore
from ops.backups.run.monitor import PAGE_BYTES, RunMonitor
from ops.backups.run.run_folder import Marker, RunFolder, make_private_folder


class Drill:
    """One drill. `run` reports errors instead of raising them."""

    def __init__(
        self, order: DrillOrder, monitor: RunMonitor, environment: RunEnvironment | None = None
    ) -> None:
        self._order = order
        self._monitor = monitor
        self._environment = environment or RunEnvironment()
        self._name = self._environment.draw_run_name()
        self._found = DrillFindings()

    def run(self) -> Report:
        """Run all steps and return the report."""
        started = self._environment.now()
        try:
            with self._monitor.open_cleanup_stack() as stack:
                self._run_steps(stack)
        except (Exception, KeyboardInterrupt) as error:
            self._found.stopped = map_error(error)
            if isinstance(self._found.stopped, DoesNotRestore):
                self._found.differences.append(self._found.stopped.difference)
        return make_report(
            self._found,
            self._order,
            run=self._name,
            started_at=started.isoformat(timespec="seconds"),
            ended_at=self._environment.now().isoformat(timespec="seconds"),
            seconds=self._monitor.seconds,
        )

    def _run_steps(self, stack: ExitStack) -> None:
        self._open_encrypted(stack)
        with self._monitor.time_phase("preflight"):
            source = self._open_source(stack)
            marker = Marker(run=self._name, source=self._spec.name, scratch=name_scratch(self._name))
            where = self._prepare_server(stack, marker, source)
            # The last check, because it is the first that creates something: the folder of reports.
            preflight.check_reports(self._order.reports)
            self._write_note(stack, marker, where)
            folder = RunFolder.create(self._order.work_folder, marker)
            stack.callback(self._remove_folder, folder)
        if where is None:
            with self._monitor.time_phase("private server"):
                where = place.start_private(
                    folder, self._tools, self._spec, stack=stack, monitor=self._monitor
                )
        if source is not None:
            self._dump_source(source, folder)
        # Before the database is created: a run that ends in between drops what there is.
        stack.callback(self._drop_copy, where, marker)
        self._compare(self._restore(where, marker, folder))

    def _open_encrypted(self, stack: ExitStack) -> None:
        """Put the decrypted backup in the place of an encrypted one."""
        backup = self._order.archive
        if backup is None or not manifest.is_encrypted(backup):
            return
        self._found.is_encrypted, self._found.expected_level = True, "B"
        with self._monitor.time_phase("decrypt"):
            opened = opening.open_encrypted(
                self._order, backup, stack, monitor=self._monitor, environment=self._environment
            )
        self._order = replace(self._order, archive=opened)

    def _open_source(self, stack: ExitStack) -> Source | None:
        """Check the source or the backup, and find the programs for it."""
        order, source = self._order, None
        if order.archive is not None:
            self._found.expected_level = "B" if (order.archive / manifest.FILE).is_file() else "C"
            self._found.spec = restore_spec.describe_file(
                order.archive, bin_folder=order.bin, tick=self._monitor.tick, key=order.key, trust=order.trust
            )
            place.refuse_untrusted_code(order, self._spec)
            self._found.archive_bytes = self._archive.bytes
        else:
            assert order.source is not None, "an order names a source or a file"
            source = restore_spec.open_checked_source(
                order.source, setting=order.setting, in_use=order.in_use
            )
            stack.callback(source.session.close)
            with error_mapping.blame_source():
                self._found.spec = restore_spec.describe_source(source)
            self._found.in_use_doubt = in_use.find_doubt(source.session, sleep=self._environment.sleep)
        major, needs_server = self._spec.identity.major, order.where == "private server"
        self._found.tools = tools.find_tools(major, tools.list_folders(order.bin), server=needs_server)
        return source

    def _prepare_server(self, stack: ExitStack, marker: Marker, source: Source | None) -> Place | None:
        """Check and clean the server that takes the copy; None if a private one is to be started."""
        order, where = self._order, None
        self._add_cleaning(leftovers.clean_noted_runs(order.state, known=order.addresses))
        if source is not None and order.where != "same server":
            self._add_cleaning(place.clean_beside(source, self._spec))
        if order.where != "private server":
            where = place.open_existing(order)
            stack.callback(where.session.close)
            self._add_cleaning(
                place.prepare_server(
                    where, order, self._spec, own=marker.scratch, environment=self._environment
                )
            )
        self._add_cleaning(leftovers.clean_folders(order.work_folder))
        preflight.check_work_disk(
            order.work_folder,
            self._spec.estimated_bytes,
            dump=self._spec.archive is None,
            copy=where is None,
            free=self._environment.free,
            option="--work",
        )
        if order.keep_dump:
            preflight.check_work_disk(
                order.kept_dumps,
                self._spec.estimated_bytes,
                dump=True,
                copy=False,
                free=self._environment.free,
                option="",
            )
        return where

    def _add_cleaning(self, cleaned: CleaningResult) -> None:
        self._found.cleaned += cleaned
        self._found.left_behind += cleaned.still_there

    def _write_note(self, stack: ExitStack, marker: Marker, where: Place | None) -> None:
        """Note where the run works before it creates anything. The note is removed if nothing is left behind."""
        noted = run_notes.write_note(
            self._order.state,
            self._order.work_folder / name_scratch(self._name),
            marker,
            server=where.server if where else None,
            setting=where.setting if where else "",
            system=place.read_system(where) if where else "",
        )
        of_others = len(self._found.left_behind)
        stack.callback(lambda: noted.close(keep=len(self._found.left_behind) > of_others))

    def _dump_source(self, source: Source, folder: RunFolder) -> None:
        """Dump the source and take its fingerprint."""
        with error_mapping.blame_source():
            taken = capture(
                source,
                folder.path / manifest.DUMP,
                tools=self._tools,
                jobs=self._order.jobs,
                folder=folder,
                monitor=self._monitor,
            )
        archive = taken.archive
        self._found.changed_meanwhile = taken.changed_meanwhile
        self._found.archive_bytes = archive.bytes
        if self._order.keep_dump:
            archive = self._keep_dump(taken)
        self._found.spec = replace(self._spec, archive=archive, fingerprint=taken.fingerprint)

    def _keep_dump(self, taken: Capture) -> dump.Archive:
        """Make a backup of the dump in the folder of kept dumps; return the moved archive."""
        keep_in = self._order.kept_dumps / self._name
        make_private_folder(keep_in.parent)
        sealed = seal(
            taken.archive,
            keep_in,
            fingerprint=taken.fingerprint,
            identity=self._spec.identity,
            made_at=self._environment.now(),
            pg_dump=self._tools.version,
            key=self._order.key,
            tick=self._monitor.tick,
        )
        self._found.kept_dump = str(keep_in)
        return sealed

    def _restore(self, where: Place, marker: Marker, folder: RunFolder) -> Scratch:
        """Create the scratch database, restore the archive into it and ANALYZE it."""
        with self._monitor.time_phase("create"):
            made = place.create(where, marker, self._spec)
        size = self._spec.identity.bytes
        with self._monitor.time_phase("restore", of_bytes=size, probe=place.make_size_probe(where, marker)):
            restoring = dump.start_restore(
                self._tools,
                made.address,
                self._archive,
                jobs=self._order.jobs,
                no_owner=self._no_owner,
                folder=folder,
            )
            with restoring:
                if restoring.wait(self._monitor.tick) != 0:
                    stored_backups.refuse_removed_backup(self._archive.path)
                    raise dump.make_error(restoring, "pg_restore", damaged="The dump does not restore")
        # A restore for real ends with ANALYZE too, so its time belongs to what a restore takes.
        with self._monitor.time_phase("analyze"), made.open() as session:
            session.execute("ANALYZE")
        return made

    def _compare(self, made: Scratch) -> None:
        """Take the copy's fingerprint and compare it with the source's."""
        with made.open() as session:
            there = list_tables(session)
            size = sum(table.pages for table in there) * PAGE_BYTES
            with self._monitor.time_phase("row sums of the copy", of_bytes=size):
                sessions = [made.open() for _ in range(self._order.jobs)]
                self._found.copy = fingerprint.take_fingerprint(session, sessions, there, self._monitor)
            if self._spec.fingerprint is None:
                return
            with self._monitor.time_phase("compare"):
                settle = Settler(session)
                self._found.differences = compare(
                    self._spec.fingerprint, self._found.copy, settle=settle, without_owners=self._no_owner
                )
                self._found.remarks = list_remarks(self._spec.fingerprint, self._found.copy)
                self._found.settled = settle.settled

    def _drop_copy(self, where: Place, marker: Marker) -> None:
        with self._monitor.time_phase("drop"):
            self._found.left_behind += place.drop_copy(where, marker, self._environment)

    def _remove_folder(self, folder: RunFolder) -> None:
        folder.remove()
        if folder.path.exists():
            self._found.left_behind.append(f"folder {folder.path}: something in it cannot be removed")

    @property
    def _spec(self) -> RestoreSpec:
        assert self._found.spec is not None
        return self._found.spec

    @property
    def _archive(self) -> dump.Archive:
        assert self._spec.archive is not None
        return self._spec.archive

    @property
    def _tools(self) -> Tools:
        assert self._found.tools is not None
        return self._found.tools

    @property
    def _no_owner(self) -> bool:
        # A file alone does not list the roles it needs.
        return self._order.no_owner or self._spec.level == "C"
