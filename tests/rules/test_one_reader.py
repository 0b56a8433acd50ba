"""A half answer is in no participant's read, because one module reads what was said, and it hides them (T6)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WHAT_WAS_SAID = re.compile(
    r"""
    \b(?:FROM|JOIN|USING)\s+companion_replychunk\b       # chunks that are still being said
    | \bReplyChunk\b                                    # the same, by the ORM
    | \bSELECT\b[^;"]*?\breply\b[^;"]*?\bFROM\s+companion_turn\b
    | \b\w+\.reply\b[^;"]*?\bFROM\s+companion_turn\b    # a reply named in a query
    | \bTurn\.objects\b
    """,
    re.VERBOSE | re.DOTALL,
)

READERS = {
    "ops/ordeal/arena/stored.py": "the judge of a private run: compares whole replies with what was shown",
    "companion/history_queries.py": "the reader of every page and socket: it shows no half answer",
    "companion/prompt_inputs.py": "the reader of every prompt: of a paused turn it reads the question alone",
    "companion/journal.py": "the writer of chunks: counts them after the database has moved, and reads no word",
    "companion/turn_close.py": "the writer: folds the chunks into the row when a turn ends",
    "companion/models.py": "names the tables to Django",
    "companion/turn_models.py": "says what the tables are",
    "ops/transcripts/queries.py": "the staff's reader: whole stories, by site and on record",
    "ops/personal_data/erasure.py": "counts the turns of a participant who is to be erased",
    "ops/personal_data/person_counts.py": "counts the turns of a participant, and reads no word",
    "ops/personal_data/export.py": "reads when turns were asked; their text comes from companion.history",
    "ops/personal_data/turn_deletion.py": "deletes turns with their chunks, and reads no word",
    "ops/status/turn_marks.py": "counts the chunks of turns that staff have open, and reads no word",
    "ops/chat_client/guests.py": "removes the people of a load test, and reads nothing",
    "ops/load/stored.py": "compares what a load test's own people were shown with what is stored",
}


def sources() -> list[Path]:
    rooms = ("companion", "ops", "personas", "routing")
    return [
        path
        for room in rooms
        for path in sorted((ROOT / room).rglob("*.py"))
        if "migrations" not in path.parts
    ]


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_named_readers_read_what_was_said(path: Path) -> None:
    if WHAT_WAS_SAID.search(path.read_text()):
        assert str(path.relative_to(ROOT)) in READERS, (
            "read it through companion.history, which hides half answers"
        )


@pytest.mark.parametrize("name", READERS)
def test_every_reader_on_the_list_still_reads(name: str) -> None:
    assert WHAT_WAS_SAID.search((ROOT / name).read_text())


@pytest.mark.parametrize(
    "written",
    [
        "SELECT reply FROM companion_turn WHERE id = 1",
        "SELECT t.id,\n t.reply\nFROM companion_turn t",
        "SELECT text FROM companion_replychunk",
        "Turn.objects.filter(pk=1)",
        "from companion.models import ReplyChunk",
    ],
)
def test_another_reader_would_be_seen(written: str) -> None:
    assert WHAT_WAS_SAID.search(written)


GIVEN = re.compile(
    r"\bops_(?:supervision|groupsupervision|groupedsite)\b|\b(?:group_)?supervisions__|\bSupervision\.objects\b"
)
READERS_OF_WHAT_WAS_GIVEN = {
    "ops/people/staff.py": "the writer, and the list of what each member of staff was given",
    "ops/people/people_plan.py": "compares what a file gives with what was given",
    "ops/people/people_store.py": "a writer: gives new staff of a file their sites",
    "ops/people/people_export.py": "writes what was given, as an import reads it",
    "ops/people/site_groups.py": "the writer of groups, and their list",
    "ops/management/commands/demo_site.py": "a writer: gives the staff of the demo their site",
    "ops/management/commands/rehearse_flag.py": "a writer: gives the rehearsal its site",
    "ops/ordeal/arena/cast.py": "a writer: gives the staff of a private run their sites",
    "ops/testbed/staff.py": "a writer: gives the staff of a load test their site",
}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_who_supervises_what_is_read_from_the_view_alone(path: Path) -> None:
    if GIVEN.search(path.read_text()):
        assert str(path.relative_to(ROOT)) in READERS_OF_WHAT_WAS_GIVEN, (
            "read ops_supervised: it knows the sites of groups as well"
        )


@pytest.mark.parametrize("name", READERS_OF_WHAT_WAS_GIVEN)
def test_every_reader_of_what_was_given_on_the_list_still_reads_it(name: str) -> None:
    text = (ROOT / name).read_text()
    assert GIVEN.search(text) or "GroupSupervision" in text or "GroupedSite" in text
