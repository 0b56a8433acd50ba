"""The restore drill as a story: look, take, restore, compare, clear away, say what was shown and what was not (D1)."""

from contextlib import ExitStack
from dataclasses import replace

from ops.backups.archive import archive_lookup, manifest
from ops.backups.archive.capture import Capture, Source, capture
from ops.backups.archive.sealing import seal
from ops.backups.comparing.compare import compare, remarks
from ops.backups.comparing.deparse import Settler
from ops.backups.connecting import in_use
from ops.backups.findings import Findings, report_of
from ops.backups.programs import dump, tools
from ops.backups.programs.tools import Tools
from ops.backups.reading import fingerprint
from ops.backups.reading.inventory import tables
from ops.backups.reporting.report import Report
from ops.backups.restoring import leftovers, place, preflight, restore_spec, whereabouts
from ops.backups.restoring.leftovers import Cleaned
from ops.backups.restoring.order import Order, World, scratch_name
from ops.backups.restoring.place import Place
from ops.backups.restoring.restore_spec import Wanted
from ops.backups.restoring.scratch import Scratch
from ops.backups.run import error_mapping
from ops.backups.run.error_mapping import stop_for
from ops.backups.run.errors import DoesNotRestore
from ops.backups.run.run_folder import Marker, RunFolder, make_private
from ops.backups.run.watch import PAGE_BYTES, Watch


class Drill:
    """One run. `run()` never raises for what it was built to meet: the report says it."""

    def __init__(self, order: Order, watch: Watch, world: World | None = None) -> None:
        self._order = order
        self._watch = watch
        self._world = world or World()
        self._name = self._world.run_name()
        self._found = Findings()

    def run(self) -> Report:
        """Everything, to the end, and the report of it."""
        started = self._world.now()
        try:
            with self._watch.orderly() as stack:
                self._steps(stack)
        except (Exception, KeyboardInterrupt) as error:
            self._found.stopped = stop_for(error)
            if isinstance(self._found.stopped, DoesNotRestore):
                self._found.differences.append(self._found.stopped.difference)
        return report_of(
            self._found,
            self._order,
            run=self._name,
            started_at=started.isoformat(timespec="seconds"),
            ended_at=self._world.now().isoformat(timespec="seconds"),
            seconds=self._watch.seconds,
        )

    def _steps(self, stack: ExitStack) -> None:
        with self._watch.phase("preflight"):
            source = self._look(stack)
            marker = Marker(run=self._name, source=self._wanted.name, scratch=scratch_name(self._name))
            where = self._check_where(stack, marker, source)
            # The last check, because it is the first that makes something: the folder of the reports.
            preflight.check_reports(self._order.reports)
            self._note(stack, marker, where)
            folder = RunFolder.make(self._order.work_folder, marker)
            stack.callback(self._remove, folder)
        if where is None:
            with self._watch.phase("private server"):
                where = place.private(folder, self._tools, self._wanted, stack=stack, watch=self._watch)
        if source is not None:
            self._take(source, folder)
        stack.callback(self._give_back, where, marker)
        self._compare(self._restore(where, marker, folder))

    def _look(self, stack: ExitStack) -> Source | None:
        """Find the source, or the file, right; and the programs for it."""
        order, source = self._order, None
        if order.archive is not None:
            self._found.asked = "B" if (order.archive / manifest.FILE).is_file() else "C"
            self._found.wanted = restore_spec.of_file(
                order.archive, bin_folder=order.bin, tick=self._watch.tick, key=order.key, trust=order.trust
            )
            place.refuse_code_of_strangers(order, self._wanted)
            self._found.archive_bytes = self._archive.bytes
        else:
            assert order.source is not None, "an order names a source or a file"
            source = restore_spec.open_right_source(order.source, setting=order.setting, in_use=order.in_use)
            stack.callback(source.session.close)
            with error_mapping.reading_the_source():
                self._found.wanted = restore_spec.of_source(source)
            self._found.in_use_doubt = in_use.doubt(source.session, sleep=self._world.sleep)
        major, needs_server = self._wanted.identity.major, order.where == "private server"
        self._found.tools = tools.find(major, tools.places(order.bin), server=needs_server)
        return source

    def _check_where(self, stack: ExitStack, marker: Marker, source: Source | None) -> Place | None:
        """The server that takes the copy, checked and cleaned; None when it is still to be started."""
        order, where = self._order, None
        self._clean(leftovers.clean_noted(order.state, known=order.addresses))
        if source is not None and order.where != "same server":
            self._clean(place.clean_beside(source, self._wanted))
        if order.where != "private server":
            where = place.existing(order)
            stack.callback(where.session.close)
            self._clean(place.make_ready(where, order, self._wanted, own=marker.scratch, world=self._world))
        self._clean(leftovers.clean_folders(order.work_folder))
        preflight.check_room(
            order.work_folder,
            self._wanted.size_guessed,
            dump=self._wanted.archive is None,
            copy=where is None,
            free=self._world.free,
            option="--work",
        )
        if order.keep_dump:
            preflight.check_room(
                order.kept_dumps,
                self._wanted.size_guessed,
                dump=True,
                copy=False,
                free=self._world.free,
                option="",
            )
        return where

    def _clean(self, cleaned: Cleaned) -> None:
        self._found.cleaned += cleaned
        self._found.left_behind += cleaned.still_there

    def _note(self, stack: ExitStack, marker: Marker, where: Place | None) -> None:
        """Note where this run works, before it makes anything there. The note goes when nothing of it is left."""
        noted = whereabouts.note(
            self._order.state,
            self._order.work_folder / scratch_name(self._name),
            marker,
            server=where.server if where else None,
            setting=where.setting if where else "",
            system=place.system_of(where) if where else "",
        )
        of_others = len(self._found.left_behind)
        stack.callback(lambda: noted.close(keep=len(self._found.left_behind) > of_others))

    def _take(self, source: Source, folder: RunFolder) -> None:
        """Dump the source and take its picture."""
        with error_mapping.reading_the_source():
            taken = capture(
                source,
                folder.path / manifest.DUMP,
                tools=self._tools,
                jobs=self._order.jobs,
                folder=folder,
                watch=self._watch,
            )
        archive = taken.archive
        self._found.changed_meanwhile = taken.changed_meanwhile
        self._found.archive_bytes = archive.bytes
        if self._order.keep_dump:
            archive = self._keep(taken)
        self._found.wanted = replace(self._wanted, archive=archive, picture=taken.picture)

    def _keep(self, taken: Capture) -> dump.Archive:
        """Seal the dump where kept ones lie; returns it there."""
        keep_in = self._order.kept_dumps / self._name
        make_private(keep_in.parent)
        sealed = seal(
            taken.archive,
            keep_in,
            picture=taken.picture,
            identity=self._wanted.identity,
            made_at=self._world.now(),
            pg_dump=self._tools.version,
            key=self._order.key,
            tick=self._watch.tick,
        )
        self._found.kept_dump = str(keep_in)
        return sealed

    def _restore(self, where: Place, marker: Marker, folder: RunFolder) -> Scratch:
        """From nothing to a database that could serve."""
        with self._watch.phase("create"):
            made = place.create(where, marker, self._wanted)
        size = self._wanted.identity.bytes
        with self._watch.phase("restore", of_bytes=size, probe=place.size_of(where, marker)):
            restoring = dump.start_restore(
                self._tools,
                made.address,
                self._archive,
                jobs=self._order.jobs,
                no_owner=self._no_owner,
                folder=folder,
            )
            with restoring:
                if restoring.wait(self._watch.tick) != 0:
                    archive_lookup.refuse_a_removed_one(self._archive.path)
                    raise dump.failed(restoring, "pg_restore", damaged="The dump does not restore")
        with self._watch.phase("analyze"), made.open() as session:
            session.execute("ANALYZE")
        return made

    def _compare(self, made: Scratch) -> None:
        """Take the copy's picture and hold it against the source's."""
        with made.open() as session:
            there = tables(session)
            size = sum(table.pages for table in there) * PAGE_BYTES
            with self._watch.phase("row sums of the copy", of_bytes=size):
                sessions = [made.open() for _ in range(self._order.jobs)]
                self._found.copy = fingerprint.of_copy(session, sessions, there, self._watch)
            if self._wanted.picture is None:
                return
            with self._watch.phase("compare"):
                settle = Settler(session)
                self._found.differences = compare(
                    self._wanted.picture, self._found.copy, settle=settle, without_owners=self._no_owner
                )
                self._found.remarks = remarks(self._wanted.picture, self._found.copy)
                self._found.settled = settle.settled

    def _give_back(self, where: Place, marker: Marker) -> None:
        with self._watch.phase("drop"):
            self._found.left_behind += place.give_back(where, marker, self._world)

    def _remove(self, folder: RunFolder) -> None:
        folder.remove()
        if folder.path.exists():
            self._found.left_behind.append(f"folder {folder.path}: something in it cannot be removed")

    @property
    def _wanted(self) -> Wanted:
        assert self._found.wanted is not None
        return self._found.wanted

    @property
    def _archive(self) -> dump.Archive:
        assert self._wanted.archive is not None
        return self._wanted.archive

    @property
    def _tools(self) -> Tools:
        assert self._found.tools is not None
        return self._found.tools

    @property
    def _no_owner(self) -> bool:
        # A file alone does not say which roles it needs.
        return self._order.no_owner or self._wanted.level == "C"
