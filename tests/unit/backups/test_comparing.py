"""Two fingerprints against each other, sums that add up, sequences that obey no snapshot: all without a server."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ops.backups.comparing.compare import compare, list_remarks
from ops.backups.reading import sequences
from ops.backups.reading.catalogue import take_apart
from ops.backups.reading.inventory import Table
from ops.backups.reading.row_sums import (
    LARGE_OBJECTS,
    MAX_PIECE_PAGES,
    Piece,
    PieceSum,
    add_up,
    cut_into_pieces,
)
from ops.backups.run.facts import Entry, Fingerprint, SequencePosition, TableSum

TICKET = SequencePosition(increment=1, before=10, after=14)
PERSON = Table(
    oid=1,
    name="public.person",
    is_materialized=False,
    in_place=True,
    pages=3 * MAX_PIECE_PAGES + 5,
    bytes=99,
    estimated_rows=0,
    is_heap=True,
    columns=("a", '"B"'),
    key=("a",),
    key_hashes_alike=True,
    readable=True,
)


def make_fingerprint(**parts: object) -> Fingerprint:
    whole = Fingerprint(
        tables={"public.person": TableSum(rows=2, buckets={1: (1, 5, 5), 2: (1, 6, 6)})},
        catalogue={"view": {"public.staff": {"query": "SELECT 1"}}},
        ledger=("a.1", "a.2"),
        sequences={"public.ticket": TICKET},
    )
    return replace(whole, **parts)  # type: ignore[arg-type]


def settle_nothing(*_texts: object) -> bool:
    return False


def list_differences(source: Fingerprint, copy: Fingerprint) -> list[str]:
    return [str(difference) for difference in compare(source, copy, settle=settle_nothing)]


def test_a_picture_equals_itself() -> None:
    assert (
        list_differences(
            make_fingerprint(),
            make_fingerprint(sequences={"public.ticket": replace(TICKET, before=12, after=12)}),
        )
        == []
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ledger": ("a.1",)}, "migration ledger a.2: missing in the copy"),
        ({"ledger": ("a.1", "a.2", "a.3")}, "migration ledger a.3: only in the copy"),
        ({"ledger": ("a.2", "a.1")}, "migration ledger order: another order"),
        ({"tables": {}}, "table public.person: missing in the copy"),
        (
            {"tables": {"public.person": TableSum(rows=1, buckets={1: (1, 5, 5)})}},
            "table public.person: at least 1 key with other content; 2 rows became 1",
        ),
        (
            {"tables": {"public.person": TableSum(rows=2, buckets={1: (1, 6, 5), 2: (1, 5, 6)})}},
            "table public.person: at least 2 keys with other content",
        ),
        ({"catalogue": {"view": {}}}, "view public.staff: missing in the copy"),
        (
            {"catalogue": {"view": {"public.staff": {"query": "SELECT 2"}}}},
            "view public.staff: another query",
        ),
    ],
)
def test_a_difference_names_kind_and_thing_and_no_value(change: dict[str, object], said: str) -> None:
    assert list_differences(make_fingerprint(), make_fingerprint(**change)) == [said]


def test_only_what_the_server_cannot_settle_is_different() -> None:
    asked = []

    def settle(kind: str, name: str, part: str, source: Entry, copy: Entry) -> bool:
        asked.append((kind, name, part, source[part], copy[part]))
        return True

    noisy = make_fingerprint(catalogue={"view": {"public.staff": {"query": "SELECT (1)"}}})

    assert compare(make_fingerprint(), noisy, settle=settle) == []
    assert asked == [("view", "public.staff", "query", "SELECT 1", "SELECT (1)")]


def test_without_owners_neither_owners_nor_grants_are_compared() -> None:
    held = make_fingerprint(catalogue={"schema": {"s": {"owner": "a"}}, "grant": {"s": {"a": "USAGE"}}})
    other = make_fingerprint(catalogue={"schema": {"s": {"owner": "b"}}, "grant": {}})

    assert compare(held, other, settle=settle_nothing, without_owners=True) == []
    assert len(compare(held, other, settle=settle_nothing)) == 2


def test_the_rows_of_a_materialized_view_are_a_remark() -> None:
    there, here = ({"public.totals": TableSum(rows=n, buckets={})} for n in (1, 2))

    assert list_differences(make_fingerprint(materialized=there), make_fingerprint(materialized=here)) == []
    assert (
        "recomputes it"
        in list_remarks(make_fingerprint(materialized=there), make_fingerprint(materialized=here))[0]
    )


@pytest.mark.parametrize(("at", "is_right"), [(9, False), (10, True), (12, True), (14, True), (15, False)])
def test_a_rising_sequence_lies_between_its_two_readings(at: int, is_right: bool) -> None:
    copy = {"public.ticket": replace(TICKET, before=at, after=at)}

    assert (sequences.compare({"public.ticket": TICKET}, copy) == []) is is_right


@pytest.mark.parametrize(("at", "is_right"), [(-9, False), (-10, True), (-14, True), (-15, False)])
def test_a_falling_sequence_lies_between_its_two_readings(at: int, is_right: bool) -> None:
    falling = SequencePosition(increment=-1, before=-10, after=-14)

    assert (sequences.compare({"s": falling}, {"s": replace(falling, before=at, after=at)}) == []) is is_right


def test_a_sequence_that_was_set_back_while_it_was_dumped_has_no_upper_end() -> None:
    set_back = replace(TICKET, after=3)

    assert sequences.compare({"s": set_back}, {"s": replace(TICKET, before=10, after=10)}) == []


def test_a_sequence_short_of_its_column_is_a_difference_unless_the_source_is_short_too() -> None:
    short = {"s": replace(TICKET, before=10, after=10, reached=11)}
    whole = {"s": replace(TICKET, reached=10)}

    assert list_differences(make_fingerprint(sequences=whole), make_fingerprint(sequences=short)) == [
        "sequence s: behind a value that its column already contains"
    ]
    assert list_differences(make_fingerprint(sequences=short), make_fingerprint(sequences=short)) == []
    assert (
        "in the source too"
        in list_remarks(make_fingerprint(sequences=short), make_fingerprint(sequences=short))[0]
    )


def test_a_big_table_is_cut_into_ranges_and_the_last_has_no_end() -> None:
    cut = [piece for piece in cut_into_pieces([PERSON]) if piece.table != LARGE_OBJECTS]

    assert len(cut) == 4
    assert sum(piece.pages for piece in cut) == PERSON.pages
    assert "ctid >= '(0,0)' AND ctid < '(4096,0)'" in cut[0].sql
    assert "ctid >= '(12288,0)'" in cut[3].sql and "ctid <" not in cut[3].sql
    assert 'ROW(a, "B")::text' in cut[0].sql


def test_a_table_that_is_no_heap_is_read_whole() -> None:
    assert len(cut_into_pieces([replace(PERSON, is_heap=False)])) == 2


@given(
    some.lists(some.tuples(some.integers(0, 255), some.integers(), some.integers()), max_size=40), some.data()
)
def test_sums_are_the_same_however_the_rows_are_shared_out(
    rows: list[tuple[int, int, int]], data: some.DataObject
) -> None:
    shares: list[list[tuple[int, int, int]]] = [[], [], []]
    for row in rows:
        shares[data.draw(some.integers(0, 2))].append(row)

    whole = add_up([PERSON], [make_part(rows)])
    shared = add_up([PERSON], [make_part(share) for share in reversed(shares)])

    assert whole == shared
    assert whole["public.person"].rows == len(rows)


def make_part(rows: list[tuple[int, int, int]]) -> PieceSum:
    buckets: dict[int, tuple[int, int, int]] = {}
    for bucket, first, second in rows:
        old = buckets.get(bucket, (0, 0, 0))
        buckets[bucket] = (old[0] + 1, old[1] + first, old[2] + second)
    return PieceSum(piece=Piece(table="public.person", sql="", pages=1), buckets=buckets)


@pytest.mark.parametrize(
    ("kind", "entry", "parts"),
    [
        (
            "constraint",
            {"definition": "CHECK (((a)::text = 'x'::text)) NOT VALID"},
            {"definition": "CHECK NOT VALID", "expression": "((a)::text = 'x'::text)"},
        ),
        ("constraint", {"definition": "PRIMARY KEY (id)"}, {"definition": "PRIMARY KEY (id)"}),
        (
            "index",
            {
                "definition": "CREATE INDEX i ON t USING btree (lower(a)) WHERE (b > 1)",
                "expression 1": "lower(a)",
            },
            {
                "definition": "CREATE INDEX i ON t USING btree ($1)",
                "expression 1": "lower(a)",
                "predicate": "(b > 1)",
            },
        ),
        (
            "trigger",
            {
                "definition": "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW WHEN ((old.a > 1)) EXECUTE FUNCTION f()"
            },
            {
                "definition": "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
                "when": "(old.a > 1)",
            },
        ),
    ],
)
def test_a_definition_is_taken_apart_into_what_can_be_settled_alone(
    kind: str, entry: dict[str, str], parts: dict[str, str]
) -> None:
    assert take_apart(kind, entry) == parts


@pytest.mark.parametrize(
    ("kind", "part", "source", "copy", "said"),
    [
        ("index", "valid", "true", "false", "valid: yes in the source, no in the copy"),
        ("index", "valid", "false", "true", "valid: no in the source, yes in the copy"),
        ("constraint", "validated", "true", "false", "validated: yes in the source, no in the copy"),
        ("column", "NOT NULL", "true", "false", "NOT NULL: yes in the source, no in the copy"),
        ("trigger", "enabled", "O", "D", "enabled in the source, disabled in the copy"),
        ("trigger", "enabled", "O", "?", "another enabled"),
        ("column", "default", "'rosa'", None, "its default is missing in the copy"),
        ("column", "default", None, "'rosa'", "its default is only in the copy"),
        ("column", "default", "'rosa'", "'ada'", "another default"),
        ("trigger", "on", "public.a", "public.b", "another table"),
        ("type", "labels in order", "'a','b'", "'b','a'", "another list or order of labels"),
        ("grant", "sam", "SELECT", "INSERT", "another grant to sam"),
        ("grant", "sam", "SELECT", None, "its grant to sam is missing in the copy"),
    ],
)
def test_a_part_that_differs_is_said_in_words_and_without_a_value(
    kind: str, part: str, source: str | None, copy: str | None, said: str
) -> None:
    there = [{kind: {"public.it": {} if text is None else {part: text}}} for text in (source, copy)]
    ours, theirs = (make_fingerprint(catalogue=catalogue) for catalogue in there)

    assert list_differences(ours, theirs) == [f"{kind} public.it: {said}"]
