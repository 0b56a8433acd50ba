"""Which account runs what root starts, and how that account gets to its files.

PostgreSQL refuses to run as root, and nothing else here needs root. An ordinary user runs everything as themselves; for
root it is an existing account that owns nothing of ours but the state folder. Where that account cannot enter a parent
folder (a checkout under /root), it is given one capability, to pass through folders and read files, and nothing else.
"""

import contextlib
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ops.stack.errors import CannotStart

ACCOUNTS = ("postgres", "nobody")

# Numbers from linux/capability.h. Containers often keep the second and drop the first.
PASSING_CAPABILITIES = {"dac_read_search": 2, "dac_override": 1}


@dataclass(frozen=True, kw_only=True)
class Account:
    """An account and the way to start a program as it. `uid` is None when it is our own."""

    uid: int | None = None
    gid: int | None = None
    prefix: tuple[str, ...] = ()
    """Put before a command; when it is empty, Popen changes the account itself."""
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.defpath, "LC_ALL": "C"})

    def command(self, argv: Sequence[str | Path]) -> list[str]:
        """The command line that runs `argv` as this account."""
        return [*self.prefix, *map(str, argv)]

    def popen_arguments(self) -> dict[str, Any]:
        """What subprocess needs besides the command."""
        arguments: dict[str, Any] = {"env": dict(self.environment), "umask": 0o077, "cwd": "/"}
        if self.uid is not None and not self.prefix:
            arguments |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return arguments

    def own(self, folder: Path) -> None:
        """Make a private folder of this account, or use the one that is there.

        A folder that is there is looked at before anything is changed, and nothing in it is followed. What belongs
        to this account stays as it is; what root alone could write in is handed over whole. Raises CannotStart.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.open_folder(folder) as place:
            facts = os.fstat(place)
            if facts.st_uid != self._wanted():
                self.hand_over(place, folder, mode=0o700)
            elif stat.S_IMODE(facts.st_mode) != 0o700:
                os.fchmod(place, 0o700)

    @contextlib.contextmanager
    def open_folder(self, folder: Path) -> Iterator[int]:
        """The descriptor of a folder of this account or our own. Raises CannotStart for any other and for a link."""
        try:
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            raise _foreign(folder) from None
        try:
            if os.fstat(place).st_uid not in {self._wanted(), os.geteuid()}:
                raise _foreign(folder)
            yield place
        finally:
            os.close(place)

    def examine(self, place: int, folder: Path) -> None:
        """Raise CannotStart if an account other than root and this one could have written in the tree under `place`.

        Folders of this account are not entered: what they hold is this account's already.
        """
        if _may_be_planted(os.fstat(place), uid=self._wanted()):
            raise _foreign(folder)
        for name, facts, within in _tree(place, but_of=self._wanted()):
            if _may_be_planted(facts, uid=self._wanted()):
                raise _foreign(folder / name if within == place else folder)

    def hand_over(self, place: int, folder: Path, *, mode: int) -> None:
        """Give the tree of ours under the descriptor `place` to this account, with this mode. Raises CannotStart."""
        assert self.uid is not None and self.gid is not None
        if _may_be_planted(os.fstat(place), uid=self.uid):
            raise _foreign(folder)
        # The new owner cannot enter before the last step, so nothing is exchanged between a look and a change.
        os.fchmod(place, 0o700)
        self.examine(place, folder)
        for name, facts, within in _tree(place, but_of=self.uid):
            if facts.st_uid != self.uid:
                os.chown(name, self.uid, self.gid, dir_fd=within, follow_symlinks=False)
        os.fchown(place, self.uid, self.gid)
        os.fchmod(place, mode)

    def _wanted(self) -> int:
        return os.geteuid() if self.uid is None else self.uid


def _tree(place: int, *, but_of: int) -> Iterator[tuple[str, os.stat_result, int]]:
    """Each name under the descriptor, what it is, and the descriptor of its folder. A folder comes after its content.

    Links are not followed, and folders of the account `but_of` are not entered.
    """
    with os.scandir(place) as listed:
        names = [entry.name for entry in listed]
    for name in names:
        facts = os.stat(name, dir_fd=place, follow_symlinks=False)
        if stat.S_ISDIR(facts.st_mode) and facts.st_uid != but_of:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            try:
                yield from _tree(inner, but_of=but_of)
            finally:
                os.close(inner)
        yield name, facts, place


def _may_be_planted(facts: os.stat_result, *, uid: int) -> bool:
    # Another name of a file elsewhere: a change of owner would give that file away.
    has_other_names = not stat.S_ISDIR(facts.st_mode) and facts.st_nlink > 1
    is_writable_by_others = stat.S_ISDIR(facts.st_mode) and bool(facts.st_mode & 0o022)
    return facts.st_uid not in {uid, os.geteuid()} or has_other_names or is_writable_by_others


def _foreign(folder: Path) -> CannotStart:
    return CannotStart(
        f"{folder} belongs to another account, is a link, or holds what another account may have put there. "
        "Look at it, then remove it, give it to the right account with chown, or choose another --state folder."
    )


def choose_account(folder: Path, binary: Path) -> Account:
    """The account that runs `binary` on `folder`. Raises CannotStart when no way leads there."""
    if os.geteuid() != 0:
        return Account()
    entry = find_service_account()
    Account(uid=entry.pw_uid, gid=entry.pw_gid).own(folder)
    return find_access(entry, folder, binary)


def find_access(
    entry: pwd.struct_passwd, folder: Path, binary: Path, *, reads: Sequence[str | Path] = ()
) -> Account:
    """How this account runs `binary` on `folder` and reads `reads`: plainly, or with its one capability.

    Raises CannotStart when neither leads there.
    """
    plain = Account(uid=entry.pw_uid, gid=entry.pw_gid)
    if _reaches(plain, folder, binary, reads):
        return plain
    passing = Account(uid=entry.pw_uid, gid=entry.pw_gid, prefix=passing_prefix(entry))
    if passing.prefix and _reaches(passing, folder, binary, reads):
        return passing
    raise CannotStart(
        f"{binary.name} is not run as root, and the account {entry.pw_name} cannot get to {folder} or {binary}. "
        "Run this as an ordinary user, or put the project and its state folder (--state) where every account may enter."
    )


def find_service_account() -> pwd.struct_passwd:
    """The account that root leaves its place to. Raises CannotStart where the machine has none."""
    for name in ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise CannotStart(
        f"Nothing here is run as root, and this machine has no account named {' or '.join(ACCOUNTS)}. "
        "Make one with: useradd --system postgres"
    )


def _reaches(account: Account, folder: Path, binary: Path, reads: Sequence[str | Path]) -> bool:
    # `test` asks with access(), as PostgreSQL itself does when it looks for its own files.
    question = 'cd "$1" && test -w . && test -x "$2" && shift 2 && for one; do test -r "$one" || exit 1; done'
    try:
        answer = subprocess.run(
            account.command(["/bin/sh", "-c", question, "sh", folder, binary, *reads]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            **account.popen_arguments(),
        )
    except PermissionError:
        return False
    return answer.returncode == 0


def passing_prefix(entry: pwd.struct_passwd) -> tuple[str, ...]:
    """The command prefix that gives an account its one capability; empty where this machine has no way to."""
    setpriv = shutil.which("setpriv", path="/usr/bin:/bin:/usr/sbin:/sbin")
    capability = passing_capability()
    if setpriv is None or capability is None:
        return ()
    return (
        setpriv,
        f"--reuid={entry.pw_uid}",
        f"--regid={entry.pw_gid}",
        "--clear-groups",
        "--no-new-privs",
        # Without this bit access() answers as if the account had no capability at all.
        "--securebits=+no_setuid_fixup",
        f"--inh-caps=+{capability}",
        f"--ambient-caps=+{capability}",
        "--",
    )


def passing_capability() -> str | None:
    """The narrowest capability we hold that lets a program pass through folders; None where we hold none."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    held = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
    return next((name for name, number in PASSING_CAPABILITIES.items() if held >> number & 1), None)
