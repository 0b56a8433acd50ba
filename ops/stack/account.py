"""Which account runs PostgreSQL, and how that account gets to its files.

PostgreSQL refuses to run as root. An ordinary user runs it as themselves; root runs it as an existing account
that owns nothing of ours but the data folder. Where that account cannot enter a parent folder (a checkout under
/root), it is given one capability, to pass through folders and read files, and nothing else.
"""

import os
import pwd
import shutil
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
        """Make a private folder that belongs to this account, with everything already in it."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.uid is None or self.gid is None:
            return
        for place, folders, files in os.walk(folder):
            for name in (".", *folders, *files):
                item = os.path.join(place, name)
                if os.lstat(item).st_uid != self.uid:
                    os.lchown(item, self.uid, self.gid)
        os.chmod(folder, 0o700)


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
        f"PostgreSQL does not run as root, and the account {entry.pw_name} cannot get to {folder} or {binary}. "
        "Run this as an ordinary user, or put the project and its state folder (--state) where every account may enter."
    )


def _existing_account() -> pwd.struct_passwd:
    for name in ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise CannotStart(
        f"PostgreSQL does not run as root, and this machine has no account named {' or '.join(ACCOUNTS)}. "
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
