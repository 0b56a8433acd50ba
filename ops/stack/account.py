"""Which account runs the embedded servers, and how that account gets to its files.

PostgreSQL refuses to run as root, and Valkey has no need to. An ordinary user runs them as themselves; root runs them
as an existing account that owns nothing of ours but the data folders. Where that account cannot enter a parent folder
(a checkout under /root), it is given one capability, to pass through folders and read files, and nothing else.
"""

import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
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
        wanted = os.geteuid() if self.uid is None else self.uid
        try:
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            raise _foreign(folder) from None
        try:
            facts = os.fstat(place)
            if facts.st_uid not in {wanted, os.geteuid()}:
                raise _foreign(folder)
            if facts.st_uid != wanted:
                assert self.uid is not None and self.gid is not None
                _hand_over(place, folder, uid=self.uid, gid=self.gid)
            elif stat.S_IMODE(facts.st_mode) != 0o700:
                os.fchmod(place, 0o700)
        finally:
            os.close(place)


def _hand_over(place: int, folder: Path, *, uid: int, gid: int) -> None:
    """Give the tree under the descriptor `place` to an account. Refuse one that another account could have written."""
    # The new owner cannot enter before the last step, so nothing is exchanged between a look and a change.
    mine = os.fstat(place)
    if _may_be_planted(mine, uid=uid):
        raise _foreign(folder)
    os.fchmod(place, 0o700)
    for _, folders, files, within in os.fwalk(".", follow_symlinks=False, dir_fd=place):
        if any(_may_be_planted(_look(name, within), uid=uid) for name in (*folders, *files)):
            raise _foreign(folder)
    for _, folders, files, within in os.fwalk(".", topdown=False, follow_symlinks=False, dir_fd=place):
        for name in (*folders, *files):
            os.chown(name, uid, gid, dir_fd=within, follow_symlinks=False)
    os.fchown(place, uid, gid)


def _look(name: str, within: int) -> os.stat_result:
    return os.stat(name, dir_fd=within, follow_symlinks=False)


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
    entry = _existing_account()
    plain = Account(uid=entry.pw_uid, gid=entry.pw_gid)
    plain.own(folder)
    if _reaches(plain, folder, binary):
        return plain
    passing = Account(uid=entry.pw_uid, gid=entry.pw_gid, prefix=passing_prefix(entry))
    if passing.prefix and _reaches(passing, folder, binary):
        return passing
    raise CannotStart(
        f"{binary.name} is not run as root, and the account {entry.pw_name} cannot get to {folder} or {binary}. "
        "Run this as an ordinary user, or put the project and its state folder (--state) where every account may enter."
    )


def _existing_account() -> pwd.struct_passwd:
    for name in ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise CannotStart(
        f"Database and queue are not run as root, and this machine has no account named {' or '.join(ACCOUNTS)}. "
        "Make one with: useradd --system postgres"
    )


def _reaches(account: Account, folder: Path, binary: Path) -> bool:
    # `test` asks with access(), as PostgreSQL itself does when it looks for its own files.
    question = 'cd "$1" && test -w . && test -x "$2"'
    try:
        answer = subprocess.run(
            account.command(["/bin/sh", "-c", question, "sh", folder, binary]),
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
    capability = _passing_capability()
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


def _passing_capability() -> str | None:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    held = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
    return next((name for name, number in PASSING_CAPABILITIES.items() if held >> number & 1), None)
