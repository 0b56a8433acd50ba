"""Folders of an account: a planted link or file is never handed over, and nothing outside is changed."""

import os
import pwd
import stat
from pathlib import Path

import pytest

from ops.stack.account import Account
from ops.stack.errors import CannotStart

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user gives no file away")


@pytest.fixture
def account() -> Account:
    entry = pwd.getpwnam("nobody")
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def owners(tree: Path) -> set[int]:
    return {path.lstat().st_uid for path in (tree, *tree.rglob("*"))}


@as_root
def test_a_planted_link_is_refused_and_the_tree_behind_it_keeps_its_owner(
    tmp_path: Path, account: Account
) -> None:
    behind = tmp_path / "behind"
    (behind / "deep").mkdir(parents=True)
    (tmp_path / "postgres").symlink_to(behind)

    with pytest.raises(CannotStart, match="is a link"):
        account.own(tmp_path / "postgres")

    assert owners(behind) == {0}


@as_root
def test_a_folder_of_a_third_account_is_refused_unchanged(tmp_path: Path, account: Account) -> None:
    folder = tmp_path / "postgres"
    folder.mkdir()
    os.chown(folder, 12345, 12345)

    with pytest.raises(CannotStart, match="belongs to another account"):
        account.own(folder)

    assert owners(folder) == {12345}


@as_root
def test_what_root_alone_wrote_is_handed_over_whole_and_a_link_in_it_is_not_followed(
    tmp_path: Path, account: Account
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("")
    folder = tmp_path / "postgres"
    (folder / "data" / "base").mkdir(parents=True)
    (folder / "data" / "PG_VERSION").write_text("18")
    (folder / "data" / "link").symlink_to(outside)

    account.own(folder)

    assert owners(folder) == {account.uid}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert owners(outside) == {0}


@as_root
@pytest.mark.parametrize("others_may_write", ["postgres", "postgres/data"])
def test_a_folder_that_others_may_write_in_is_not_handed_over(
    tmp_path: Path, account: Account, others_may_write: str
) -> None:
    (tmp_path / "postgres" / "data").mkdir(parents=True)
    (tmp_path / others_may_write).chmod(0o777)

    with pytest.raises(CannotStart):
        account.own(tmp_path / "postgres")

    assert owners(tmp_path) == {0}


@as_root
def test_a_second_name_of_a_file_elsewhere_is_not_handed_over(tmp_path: Path, account: Account) -> None:
    (tmp_path / "secret").write_text("")
    (tmp_path / "postgres").mkdir()
    os.link(tmp_path / "secret", tmp_path / "postgres" / "innocent")

    with pytest.raises(CannotStart):
        account.own(tmp_path / "postgres")

    assert owners(tmp_path) == {0}


@as_root
def test_what_the_account_has_put_into_its_own_folder_is_left_alone(tmp_path: Path, account: Account) -> None:
    account.own(tmp_path / "postgres")
    (tmp_path / "secret").write_text("")
    os.link(tmp_path / "secret", tmp_path / "postgres" / "planted")

    account.own(tmp_path / "postgres")

    assert (tmp_path / "secret").stat().st_uid == 0


def test_a_folder_is_made_private(tmp_path: Path) -> None:
    Account().own(tmp_path / "new" / "folder")

    assert stat.S_IMODE((tmp_path / "new" / "folder").stat().st_mode) == 0o700
