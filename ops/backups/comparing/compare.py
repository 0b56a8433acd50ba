"""PURE: two pictures against each other. A difference names kind, object and part, and never a value."""

from collections.abc import Callable, Iterator, Mapping, Set

from ops.backups.comparing.differing import wording
from ops.backups.reading import sequences
from ops.backups.reading.catalogue_database import LEFT_BY_A_DUMP
from ops.backups.run.facts import Catalogue, Difference, Entry, Picture, TableSum

Settle = Callable[[str, str, str, Entry, Entry], bool]
"""(kind, name, part, source, copy): whether two texts that differ mean the same."""
PARTITIONED = "p"
HOLDERS = frozenset({"owner", "grants"})
GRANTS = frozenset({"grant", "database grant", "database owner"})
DEPENDS_ON_THE_PLACE = frozenset({"version of its locale"})
"""Parts that another machine may print otherwise for a faithful copy: said as remarks."""


def compare(
    source: Picture, copy: Picture, *, settle: Settle, without_owners: bool = False, in_place: bool = False
) -> list[Difference]:
    """Everything that is not in the copy as it was in the source, in a fixed order.

    `in_place`: the copy is to be used under the source's own name, so what no dump holds must be as it was too.
    """
    leave = frozenset() if in_place else LEFT_BY_A_DUMP
    if without_owners:
        leave |= GRANTS
    parts = DEPENDS_ON_THE_PLACE | (HOLDERS if without_owners else frozenset())
    return [
        *_ledgers(source.ledger, copy.ledger),
        *_tables(source.tables, copy.tables),
        *_catalogues(
            _kinds(source.catalogue, leave), _kinds(copy.catalogue, leave), settle=settle, leave=parts
        ),
        *sequences.compare(source.sequences, copy.sequences),
        *_short_sequences(source, copy),
    ]


def remarks(source: Picture, copy: Picture) -> list[str]:
    """What is worth saying and is no difference."""
    said = [
        f"materialized view {name}: a restore computes it anew; its rows differ from what the source last stored"
        for name, stored in source.materialized.items()
        if name in copy.materialized and stored != copy.materialized[name]
    ]
    said += [
        f"index {name}: not valid in the source, so a dump leaves it out. Build it anew there, or drop it"
        for name in _left_out_by_a_dump(source.catalogue, copy.catalogue)
    ]
    said += [
        f"{kind} {name}: the copy's machine sorts by another version of its locale"
        for kind, of in source.catalogue.items()
        for name, entry in of.items()
        for part in sorted(DEPENDS_ON_THE_PLACE & entry.keys())
        if entry[part] != copy.catalogue.get(kind, {}).get(name, {}).get(part, entry[part])
    ]
    faulty = set(sequences.short(copy.sequences)) & set(sequences.short(source.sequences))
    return said + [
        f"sequence {name}: short of its own column in the source too; the next new row will fail there"
        for name in sorted(faulty)
    ]


def _kinds(catalogue: Catalogue, leave: Set[str]) -> Catalogue:
    return {kind: of for kind, of in catalogue.items() if kind not in leave}


def _left_out_by_a_dump(source: Catalogue, copy: Catalogue) -> list[str]:
    """Indexes that pg_dump leaves out because they are not usable in the source either."""
    there, tables = copy.get("index", {}), source.get("relation", {})
    return [
        name
        for name, entry in source.get("index", {}).items()
        if name not in there
        and entry.get("valid") == "false"
        and tables.get(entry["on"], {}).get("kind") != PARTITIONED
    ]


def _ledgers(source: tuple[str, ...], copy: tuple[str, ...]) -> Iterator[Difference]:
    if source == copy:
        return
    missing = [name for name in source if name not in copy]
    added = [name for name in copy if name not in source]
    for name in missing:
        yield Difference(kind="migration ledger", name=name, what="missing in the copy")
    for name in added:
        yield Difference(kind="migration ledger", name=name, what="only in the copy")
    if not missing and not added:
        yield Difference(kind="migration ledger", name="order", what="another order")


def _tables(source: Mapping[str, TableSum], copy: Mapping[str, TableSum]) -> Iterator[Difference]:
    for name in sorted(source.keys() | copy.keys()):
        if name not in copy:
            yield Difference(kind="table", name=name, what="missing in the copy")
        elif name not in source:
            yield Difference(kind="table", name=name, what="only in the copy")
        elif what := _content(source[name], copy[name]):
            yield Difference(kind="table", name=name, what=what)


def _content(source: TableSum, copy: TableSum) -> str:
    empty = (0, 0, 0)
    parts = source.buckets.keys() | copy.buckets.keys()
    apart = [k for k in parts if source.buckets.get(k, empty) != copy.buckets.get(k, empty)]
    if not apart:
        return ""
    said = f"at least {len(apart)} key{'s' if len(apart) > 1 else ''} with other content"
    if source.rows != copy.rows:
        said += f"; {source.rows} rows became {copy.rows}"
    return said


def _catalogues(
    source: Catalogue, copy: Catalogue, *, settle: Settle, leave: Set[str]
) -> Iterator[Difference]:
    left_out = set(_left_out_by_a_dump(source, copy))
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
                yield from _parts(kind, name, ours[name], theirs[name], settle=settle, leave=leave)


def _parts(
    kind: str, name: str, source: Entry, copy: Entry, *, settle: Settle, leave: Set[str]
) -> Iterator[Difference]:
    for part in sorted((source.keys() | copy.keys()) - leave):
        if source.get(part) != copy.get(part) and not settle(kind, name, part, source, copy):
            what = wording(kind, part, source.get(part), copy.get(part))
            yield Difference(kind=kind, name=name, what=what)


def _short_sequences(source: Picture, copy: Picture) -> Iterator[Difference]:
    said = {difference.name for difference in sequences.compare(source.sequences, copy.sequences)}
    in_both = set(sequences.short(source.sequences))
    for name in sequences.short(copy.sequences):
        if name not in said and name not in in_both:
            yield Difference(kind="sequence", name=name, what="short of a value its column already holds")
