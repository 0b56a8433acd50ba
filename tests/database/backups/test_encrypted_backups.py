"""A backup is encrypted with a public key alone, and a drill proves what is stored (D4)."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from ops.backups.archive import encryption
from ops.backups.archive.encryption import EncryptedManifest, EncryptedSource
from ops.backups.archive.manifest import FileFacts
from ops.backups.check_restored import compare_with_manifest
from ops.backups.reporting.verdict import DrillVerdict
from ops.backups.run.errors import ArchiveDamaged, CouldNotRun
from ops.backups.run.monitor import RunMonitor
from ops.backups.run.run_folder import Marker, RunFolder
from tests.database.backups.age_keys import AgeKeys, decrypt_by_hand, make_keys
from tests.database.backups.backup_files import edit_manifest, list_stored_backups, move_date
from tests.database.backups.conftest import MakeBackup, RunDrill
from tests.database.backups.drill_server import KEY, SETTING, Server


@pytest.fixture
def keys(tmp_path: Path) -> AgeKeys:
    """The keys of the operators."""
    return make_keys(tmp_path)


def list_decrypted(state: Path) -> list[Path]:
    """What drills have left decrypted."""
    return list((state / "drill-work").glob("decrypted/*"))


def test_a_drill_proves_the_encrypted_backup_that_was_made_without_its_identity(
    make: MakeBackup, drill: RunDrill, state: Path, keys: AgeKeys
) -> None:
    away = keys.identity.rename(state / "away")
    made = make(recipients=keys.recipient)
    away.rename(keys.identity)

    report = drill(source=None, archive=made.path, where="private server", identity=keys.identity)

    assert (report.level, report.verdict, report.differences) == ("B", DrillVerdict.PROVED, ()), (
        report.to_text()
    )
    assert report.rows == made.rows and report.source.endswith(f"{made.path.name}, encrypted")
    assert any("identity which opens it is kept anywhere else" in line for line in report.not_proved)
    stored = sorted(path.name for path in made.path.iterdir())
    assert stored == ["backup.tar.age", "manifest.json", "manifest.sig"]
    assert {path.stat().st_mode & 0o077 for path in [made.path, *made.path.iterdir()]} == {0}
    assert "public." not in (made.path / "manifest.json").read_text()
    assert list((state / "backups" / ".work").iterdir()) == list_decrypted(state) == []


def flip_byte(backup: Path) -> None:
    """A damage in the middle, as a disk makes it."""
    with (backup / "backup.tar.age").open("r+b") as file:
        file.seek(5000)
        byte = file.read(1)[0]
        file.seek(5000)
        file.write(bytes([byte ^ 1]))


def remove_encrypted_file(backup: Path) -> None:
    (backup / "backup.tar.age").unlink()


def move_signed_date(backup: Path) -> None:
    edit_manifest(backup, move_date)


def remove_signature(backup: Path) -> None:
    """As another could have made it, who has the public key."""
    (backup / "manifest.sig").unlink()


def test_an_encrypted_backup_that_is_not_as_it_was_signed_is_refused_before_it_is_decrypted(
    make: MakeBackup, drill: RunDrill, state: Path, keys: AgeKeys
) -> None:
    made = make(recipients=keys.recipient)
    damages: dict[Callable[[Path], None], tuple[DrillVerdict, str]] = {
        flip_byte: (DrillVerdict.DIFFERENT, "is not the file that its manifest names"),
        remove_encrypted_file: (DrillVerdict.DIFFERENT, "is missing"),
        move_signed_date: (DrillVerdict.DIFFERENT, "has been changed since it was signed"),
        remove_signature: (DrillVerdict.COULD_NOT_RUN, "its author is unknown"),
    }

    for damage, (verdict, says) in damages.items():
        backup = shutil.copytree(made.path, state / damage.__name__)
        damage(backup)
        report = drill(source=None, archive=backup, where="private server", identity=keys.identity)

        assert report.verdict == verdict and says in report.stopped, report.to_text()
        assert "preflight" not in report.seconds and list_decrypted(state) == []


def test_a_backup_that_cannot_be_opened_here_says_what_is_missing(
    make: MakeBackup, drill: RunDrill, state: Path, keys: AgeKeys
) -> None:
    made = make(recipients=keys.recipient)
    public, shown = state / "public", make_keys(state, "shown").identity
    public.write_text(keys.recipient)
    public.chmod(0o600)
    shown.chmod(0o644)
    cases = {
        None: "no identity is named",
        state / "nowhere": "cannot be read: No such file",
        public: "is no identity of age, or a passphrase protects it",
        shown: "Every account of this machine may use the identity",
        make_keys(state, "another").identity: "was encrypted for other keys",
    }

    for identity, says in cases.items():
        report = drill(source=None, archive=made.path, where="private server", identity=identity)

        assert report.verdict == DrillVerdict.COULD_NOT_RUN, report.to_text()
        assert says in report.stopped and "AGE-SECRET-KEY-1" not in report.stopped.replace(
            "begins with AGE-SECRET-KEY-1", ""
        )
        assert list_decrypted(state) == []


def test_each_recipient_can_open_the_backup_by_hand_and_compare_the_database_with_it(
    server: Server, make: MakeBackup, state: Path, keys: AgeKeys
) -> None:
    second = make_keys(state, "second")
    made = make(recipients=f"{keys.recipient}\n{second.recipient}\n")
    address, monitor = server.address("sample"), RunMonitor()

    with pytest.raises(CouldNotRun, match=r"is encrypted.* age --decrypt --identity FILE"):
        compare_with_manifest(
            address, made.path, setting=SETTING, jobs=2, no_owner=False, monitor=monitor, key=KEY
        )
    opened = decrypt_by_hand(made.path, second, state / "opened")
    held = compare_with_manifest(
        address, opened, setting=SETTING, jobs=2, no_owner=False, monitor=monitor, key=KEY
    )

    assert (held.differences, held.rows) == ([], made.rows)


def test_rotation_needs_no_identity_and_a_lost_setting_makes_no_plain_backup(
    make: MakeBackup, state: Path, keys: AgeKeys
) -> None:
    first = make(keep=1, recipients=keys.recipient)
    second = make(hours=1, keep=1, recipients=keys.recipient)

    with pytest.raises(CouldNotRun, match="would not be: BACKUP_RECIPIENTS is not set"):
        make(hours=2, keep=1)

    assert second.removed == (first.path.name,)
    assert list_stored_backups(state) == [second.path.name]


def test_keys_that_age_refuses_leave_no_backup(make: MakeBackup, state: Path) -> None:
    with pytest.raises(CouldNotRun, match="ended with exit code 1"):
        make(recipients="age1nonsense")

    assert list_stored_backups(state) == []
    assert list((state / "backups" / ".work").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "dump/../../evil", "dump/a/b", "manifest.json/", "link"]
)
def test_a_file_that_would_lie_outside_of_the_backup_is_not_unpacked(
    tmp_path: Path, keys: AgeKeys, name: str
) -> None:
    backup, packed = tmp_path / "companion-20260304T120000Z", io.BytesIO()
    backup.mkdir()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.type = tarfile.SYMTYPE if name == "link" else tarfile.REGTYPE
        member.size = 0 if name == "link" else 4
        archive.addfile(member, io.BytesIO(b"evil"))
    subprocess.run(
        ["age", "--encrypt", "--recipient", keys.recipient, "--output", backup / "backup.tar.age"],
        input=packed.getvalue(),
        check=True,
    )
    stored = (backup / "backup.tar.age").read_bytes()
    facts = EncryptedManifest(
        manifest=3,
        made_at=datetime(2026, 3, 4, 12, tzinfo=UTC),
        source=EncryptedSource(system="1", database="live"),
        encrypted=FileFacts(bytes=len(stored), sha256=sha256(stored).hexdigest()),
    )
    folder = RunFolder.create(tmp_path / "work", Marker(run="r", source="1/live", scratch="s"))
    into = folder.path / "opened"

    with pytest.raises(ArchiveDamaged, match="none of a backup"):
        encryption.decrypt(backup, facts, into, identity=keys.identity, folder=folder, tick=RunMonitor().tick)

    assert [path for path in into.rglob("*") if path.is_file()] == []
    assert not list(tmp_path.rglob("evil"))
    folder.remove()
