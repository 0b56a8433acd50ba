"""The last-known-good copy: private, whole, never older than it was, for every writer (R5, R6)."""

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ops.selections.last_known_good import LastKnownGood
from routing.errors import SelectionInvalid
from routing.selection import Selection
from tests.selections import ROUTING

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def pinned(version: int) -> Selection:
    return Selection(
        version=version,
        preset="local_only",
        by="Ines",
        reason="A test",
        at=NOON,
        expires_at=NOON + timedelta(hours=4),
    )


def test_what_was_written_is_read_and_other_accounts_of_the_machine_may_not_read_it(tmp_path: Path) -> None:
    copy = LastKnownGood(tmp_path, ROUTING)
    assert copy.read() is None

    assert copy.write(pinned(3))

    assert copy.read() == pinned(3)
    assert stat.S_IMODE(copy.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_older_or_equal_one_is_not_written(tmp_path: Path, version: int) -> None:
    copy = LastKnownGood(tmp_path, ROUTING)
    copy.write(pinned(3))

    assert not copy.write(pinned(version))
    assert copy.version == 3


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"{", b"null", b"[]", b'{"version": 9}', b'{"version": 9, "preset": "gone"}'],
)
def test_a_damaged_one_is_refused_and_gives_way_to_the_next(tmp_path: Path, content: bytes) -> None:
    copy = LastKnownGood(tmp_path, ROUTING)
    copy.write(pinned(3))
    copy.path.write_bytes(content)

    with pytest.raises(SelectionInvalid):
        copy.read()
    assert copy.version == 0
    assert copy.write(pinned(4))
    assert copy.read() == pinned(4)


def test_of_many_that_write_at_once_the_highest_version_stays(tmp_path: Path) -> None:
    versions = [5, 12, 3, 9, 1, 11, 7, 2, 10, 4, 8, 6]
    with ThreadPoolExecutor(12) as many:
        list(many.map(lambda version: LastKnownGood(tmp_path, ROUTING).write(pinned(version)), versions))
    assert LastKnownGood(tmp_path, ROUTING).version == 12


def test_a_folder_where_nothing_can_be_written_is_an_error_for_the_caller(tmp_path: Path) -> None:
    (tmp_path / "routing").write_text("in the way")
    with pytest.raises(OSError):
        LastKnownGood(tmp_path, ROUTING).write(pinned(1))
