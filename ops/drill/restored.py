"""Does a database hold what a backup's manifest says? The check after a restore for real, before people come back."""

from dataclasses import dataclass
from pathlib import Path

import psycopg

from ops.drill import direct, manifest, picture
from ops.drill.address import Address
from ops.drill.compare import compare, remarks
from ops.drill.deparse import Settler
from ops.drill.facts import Difference
from ops.drill.foreign import told
from ops.drill.inventory import tables
from ops.drill.session import open_scratch, open_source
from ops.drill.watch import PAGE_BYTES, Watch


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What a database was found to be, against a manifest."""

    differences: list[Difference]
    remarks: list[str]
    rows: int


def hold_against(
    address: Address, backup: Path, *, setting: str, jobs: int, no_owner: bool, watch: Watch
) -> Held:
    """Compare the database at `address` with the manifest in `backup`. Leaves it as it is. Raises DrillStopped."""
    facts = manifest.read(backup / manifest.FILE)
    direct.refuse_catch_all(address, setting=setting)
    try:
        with open_source(address, setting=setting) as session:
            there = tables(session)
            size = sum(table.pages for table in there) * PAGE_BYTES
            with watch.phase("row sums", of_bytes=size):
                sessions = [open_source(address, setting=setting) for _ in range(jobs)]
                found = picture.of_copy(session, sessions, there, watch)
        # Printing a definition anew takes a temporary view, in a transaction that is rolled back.
        with open_scratch(address, setting=setting) as printing, watch.phase("compare"):
            return Held(
                differences=compare(facts.picture, found, settle=Settler(printing), without_owners=no_owner),
                remarks=remarks(facts.picture, found),
                rows=found.rows,
            )
    except psycopg.Error as error:
        raise told(error) from None
