"""What pg_dump and pg_restore of PostgreSQL 15, 16 and 18 really say when they fail, and what is made of it.

`complaints.json` was collected from real failures on real servers: case to texts, each with the majors that say it so.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.backups.programs.stderr import FaultKind, diagnose

COLLECTED = json.loads(Path(__file__).with_name("complaints.json").read_text())
VALUES = ("Rosa said", "424242", "no gzip at all")
EXPECTED: dict[str, tuple[FaultKind, str]] = {
    "already_there": (FaultKind.ENVIRONMENT, "aa already exists"),
    "backend_killed": (FaultKind.ENVIRONMENT, "the connection to the server broke"),
    "cancelled": (FaultKind.ENVIRONMENT, "one of its statements was cancelled from outside"),
    "check_later": (FaultKind.CONTENT, "constraint aa_big of table aa: "),
    "check_other": (FaultKind.CONTENT, "constraint aa_known of table aa: "),
    "check_plpgsql": (
        FaultKind.CONTENT,
        "function public.known(integer): it fails in a restore, which needs it for rows of table aa",
    ),
    "check_raises": (FaultKind.CONTENT, "function public.known(integer): "),
    "check_unqualified": (
        FaultKind.CONTENT,
        "function known: it fails in a restore, which needs it for rows of table aa",
    ),
    "cut_custom": (FaultKind.ARCHIVE, "cannot be read to its end"),
    "cut_custom_toc": (FaultKind.ARCHIVE, "cannot be read to its end"),
    "cut_data": (FaultKind.ARCHIVE, "cannot be read to its end"),
    "cut_toc": (FaultKind.ARCHIVE, "cannot be read to its end"),
    "disk_full": (FaultKind.ENVIRONMENT, "the disk is full"),
    "domain": (FaultKind.CONTENT, "constraint small_check of table aa: "),
    "dump_disk_full": (FaultKind.ENVIRONMENT, "the disk is full"),
    "dump_disk_full_z": (FaultKind.ENVIRONMENT, "the disk is full"),
    "dump_file_gone": (FaultKind.SOURCE, "table aa cannot be read"),
    "dump_locked": (FaultKind.TRANSIENT, "a table is locked"),
    "dump_many": (FaultKind.ENVIRONMENT, "the server's table of locks is full"),
    "dump_page": (FaultKind.SOURCE, "block 3 of table aa cannot be read"),
    "dump_rls": (FaultKind.ENVIRONMENT, "row security hides rows"),
    "dump_weak": (FaultKind.ENVIRONMENT, "may not read or write aa"),
    "enumgone": (FaultKind.CONTENT, "table aa: it rejects rows of the dump"),
    "exclusion": (FaultKind.CONTENT, "constraint aa_apart of table public.aa: "),
    "flipped_custom": (FaultKind.ARCHIVE, "cannot be read to its end"),
    "flipped_data": (FaultKind.ARCHIVE, "cannot be read to its end"),
    "garbled_toc": (FaultKind.ENVIRONMENT, "memory ran out, or the archive's table of contents is damaged"),
    "index_function": (
        FaultKind.CONTENT,
        "function public.f(integer): it fails in a restore, which needs it for rows of index aa_f on public.aa",
    ),
    "killed_worker": (FaultKind.UNKNOWN, "one of its processes was killed"),
    "matview": (FaultKind.CONTENT, "rows of materialized view public.mv"),
    "matview_un": (FaultKind.CONTENT, "rows of materialized view public.mv"),
    "missing_data": (FaultKind.ARCHIVE, "cannot be read to its end"),
    "newer": (FaultKind.ENVIRONMENT, "of a newer pg_dump"),
    "newer_list": (FaultKind.ENVIRONMENT, "of a newer pg_dump"),
    "newer_major": (FaultKind.ENVIRONMENT, "of a newer pg_dump"),
    "no_database": (FaultKind.ENVIRONMENT, "the connection to the server broke"),
    "no_gzip": (FaultKind.CONTENT, "table aa: it rejects rows of the dump"),
    "no_server": (FaultKind.ENVIRONMENT, "the connection to the server broke"),
    "nonul": (FaultKind.CONTENT, "constraint NOT NULL of aa.secret: "),
    "orphan": (
        FaultKind.CONTENT,
        "constraint visit_person of table public.visit: rows of the dump have no parent",
    ),
    "orphan_odd": (
        FaultKind.CONTENT,
        'constraint a fk of table "My S"."V t": rows of the dump have no parent',
    ),
    "prim": (FaultKind.CONTENT, "constraint aa_pkey of table public.aa: the dump contains duplicate rows"),
    "rolegone": (FaultKind.ENVIRONMENT, "role gone r does not exist"),
    "terminated": (FaultKind.ENVIRONMENT, "the connection to the server broke"),
    "tiny": (FaultKind.ARCHIVE, "cannot be read to its end"),
    "uniq": (FaultKind.CONTENT, "constraint aa_one of table public.aa: the dump contains duplicate rows"),
    "weak_owner": (FaultKind.ENVIRONMENT, "may not act for companion"),
    "weak_schema": (FaultKind.ENVIRONMENT, "may not read or write public"),
}


def list_collected() -> Iterator[object]:
    """Every text, by its case and the first major that says it so."""
    for case, texts in COLLECTED.items():
        for text in texts:
            yield pytest.param(case, text, id=f"{case}-{text['majors'][0]}")


def test_every_collected_case_has_an_expectation() -> None:
    assert COLLECTED.keys() == EXPECTED.keys()


@pytest.mark.parametrize(("case", "text"), list(list_collected()))
def test_a_real_complaint_is_recognised_and_quotes_no_row(case: str, text: dict[str, object]) -> None:
    found = diagnose(str(text["said"]), code=int(str(text["code"])))

    kind, what = EXPECTED[case]
    assert found.kind is kind
    assert what in found.what
    assert not any(value in found.what + found.mend for value in VALUES)


@pytest.mark.parametrize(
    ("stderr", "code", "what"),
    [
        ("", -9, "it was killed by SIGKILL"),
        ("", 3, "it ended with exit code 3"),
        (
            "pg_restore: error: something new\n",
            1,
            "it ended with exit code 1, saying “something new”",
        ),
        (
            'pg_restore: error: COPY failed for table "aa": ERROR:  odd thing "Rosa said" of 424242\n',
            1,
            "it ended with exit code 1 at aa: the server refused a statement, saying “odd thing”",
        ),
        (
            "pg_restore: error: could not execute query: ERROR:  Rosa said\n"
            "CONTEXT:  PL/pgSQL function public.f() line 1",
            1,
            "function public.f(): it fails in a restore",
        ),
    ],
)
def test_an_ending_that_is_not_known_accuses_no_backup_and_gives_what_cause_there_is(
    stderr: str, code: int, what: str
) -> None:
    found = diagnose(stderr, code=code)

    assert what in found.what
    assert found.kind in {FaultKind.UNKNOWN, FaultKind.CONTENT}
    assert not any(value in found.what for value in VALUES)


def test_what_a_row_says_is_not_taken_for_the_cause() -> None:
    stderr = (
        'pg_restore: error: COPY failed for table "aa": ERROR:  null value in column "b" of relation "aa" violates '
        "not-null constraint\nDETAIL:  Failing row contains (No space left on device, null).\n"
        'CONTEXT:  COPY aa, line 1: "No space left on device\t\\N"\n'
    )

    assert diagnose(stderr, code=1).kind is FaultKind.CONTENT
