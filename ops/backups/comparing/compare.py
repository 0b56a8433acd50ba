"""PURE: compares two fingerprints. A difference names kind, object and part, and never a value."""

from collections.abc import Callable, Iterator, Mapping, Set

from ops.backups.comparing.difference_text import describe_part
from ops.backups.reading import sequences
from ops.backups.reading.catalogue_database import NOT_IN_A_DUMP
from ops.backups.run.facts import Catalogue, Difference, Entry, Fingerprint, TableSum

Settle = Callable[[str, str, str, Entry, Entry], bool]
"""(kind, name, part, source, copy) -> whether two differing texts mean the same."""
PARTITIONED = "p"
OWNER_PARTS = frozenset({"owner", "grants"})
GRANT_KINDS = frozenset({"grant", "database grant", "database owner"})
MACHINE_DEPENDENT_PARTS = frozenset({"version of its locale"})
"""Parts that may differ on another machine although the copy is faithful: reported as remarks."""


def compare(
    source: Fingerprint,
    copy: Fingerprint,
    *,
    settle: Settle,
    without_owners: bool = False,
    in_place: bool = False,
) -> list[Difference]:
    """List the differences of the copy from the source, in a fixed order.

    `in_place`: the copy replaces the source, so what a dump omits is compared too.
    """
    # What a dump omits is missing in every copy; reporting it would make each drill fail.
    leave = frozenset() if in_place else NOT_IN_A_DUMP
    if without_owners:
        leave |= GRANT_KINDS
    parts = MACHINE_DEPENDENT_PARTS | (OWNER_PARTS if without_owners else frozenset())
    return [
        *_compare_ledgers(source.ledger, copy.ledger),
        *_compare_tables(source.tables, copy.tables),
        *_compare_catalogues(
            _drop_kinds(source.catalogue, leave),
            _drop_kinds(copy.catalogue, leave),
            settle=settle,
            leave=parts,
        ),
        *sequences.compare(source.sequences, copy.sequences),
        *_find_short_sequences(source, copy),
    ]


def list_remarks(source: Fingerprint, copy: Fingerprint) -> list[str]:
    """List what is worth reporting and is not a difference."""
    said = [
        f"materialized view {name}: a restore recomputes it; its rows differ from those the source last stored"
        for name, stored in source.materialized.items()
        if name in copy.materialized and stored != copy.materialized[name]
    ]
    said += [
        f"index {name}: not valid in the source, so a dump omits it. Rebuild it there, or drop it"
        for name in _list_invalid_indexes(source.catalogue, copy.catalogue)
    ]
    said += [
        f"{kind} {name}: the copy's machine sorts by another version of its locale"
        for kind, of in source.catalogue.items()
        for name, entry in of.items()
        for part in sorted(MACHINE_DEPENDENT_PARTS & entry.keys())
        if entry[part] != copy.catalogue.get(kind, {}).get(name, {}).get(part, entry[part])
    ]
    # Behind in both: the restore is faithful, and the fault is the source's. A person must still learn of it.
    faulty = set(sequences.find_short(copy.sequences)) & set(sequences.find_short(source.sequences))
    return said + [
        f"sequence {name}: behind its own column in the source too; the next new row will fail there"
        for name in sorted(faulty)
    ]


def _drop_kinds(catalogue: Catalogue, leave: Set[str]) -> Catalogue:
    return {kind: of for kind, of in catalogue.items() if kind not in leave}


def _list_invalid_indexes(source: Catalogue, copy: Catalogue) -> list[str]:
    """List invalid indexes, which pg_dump omits."""
    there, tables = copy.get("index", {}), source.get("relation", {})
    return [
        name
        for name, entry in source.get("index", {}).items()
        if name not in there
        and entry.get("valid") == "false"
        and tables.get(entry["on"], {}).get("kind") != PARTITIONED
    ]


def _compare_ledgers(source: tuple[str, ...], copy: tuple[str, ...]) -> Iterator[Difference]:
    if source == copy:
        return
    missing = [name for name in source if name not in copy]
    added = [name for name in copy if name not in source]
    for name in missing:
        yield Difference(kind="migration ledger", name=name, what="missing in the copy")
    for name in added:
        yield Difference(kind="migration ledger", name=name, what="only in the copy")
    # The order counts: the next migration depends on what the ledger says was applied before.
    if not missing and not added:
        yield Difference(kind="migration ledger", name="order", what="another order")


def _compare_tables(source: Mapping[str, TableSum], copy: Mapping[str, TableSum]) -> Iterator[Difference]:
    for name in sorted(source.keys() | copy.keys()):
        if name not in copy:
            yield Difference(kind="table", name=name, what="missing in the copy")
        elif name not in source:
            yield Difference(kind="table", name=name, what="only in the copy")
        elif what := _describe_content(source[name], copy[name]):
            yield Difference(kind="table", name=name, what=what)


def _describe_content(source: TableSum, copy: TableSum) -> str:
    empty = (0, 0, 0)
    parts = source.buckets.keys() | copy.buckets.keys()
    # Keys are spread over buckets, and a bucket is equal or not: the count of differing keys is a lower bound.
    apart = [k for k in parts if source.buckets.get(k, empty) != copy.buckets.get(k, empty)]
    if not apart:
        return ""
    said = f"at least {len(apart)} key{'s' if len(apart) > 1 else ''} with other content"
    if source.rows != copy.rows:
        said += f"; {source.rows} rows became {copy.rows}"
    return said


def _compare_catalogues(
    source: Catalogue, copy: Catalogue, *, settle: Settle, leave: Set[str]
) -> Iterator[Difference]:
    # Reported as a remark: a dump omits an index that a failed CREATE INDEX CONCURRENTLY has left behind.
    left_out = set(_list_invalid_indexes(source, copy))
    for kind in sorted(source.keys() | copy.keys()):
        ours, theirs = source.get(kind, {}), copy.get(kind, {})
        for name in sorted(ours.keys() | theirs.keys()):
            if kind == "index" and name in left_out:
                continue
            if name not in theirs:
                yield Difference(kind=kind, name=name, what="missing in the copy")
            elif name not in ours:
                yield Difference(kind=kind, name=name, what="only in the copy")
            else:
                yield from _compare_parts(kind, name, ours[name], theirs[name], settle=settle, leave=leave)


def _compare_parts(
    kind: str, name: str, source: Entry, copy: Entry, *, settle: Settle, leave: Set[str]
) -> Iterator[Difference]:
    for part in sorted((source.keys() | copy.keys()) - leave):
        # The texts first: nearly all are equal, and each question to the scratch server is a round trip.
        if source.get(part) != copy.get(part) and not settle(kind, name, part, source, copy):
            what = describe_part(kind, part, source.get(part), copy.get(part))
            yield Difference(kind=kind, name=name, what=what)


def _find_short_sequences(source: Fingerprint, copy: Fingerprint) -> Iterator[Difference]:
    # Reported already, as another position.
    said = {difference.name for difference in sequences.compare(source.sequences, copy.sequences)}
    in_both = set(sequences.find_short(source.sequences))
    for name in sequences.find_short(copy.sequences):
        if name not in said and name not in in_both:
            yield Difference(
                kind="sequence", name=name, what="behind a value that its column already contains"
            )
