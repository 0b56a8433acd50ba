"""Root gives up its rights for the rest of a process, and becomes the account that a state folder belongs to.

So every file in that folder has one owner, whichever account starts `scripts/up` and the commands, and no file that
the account has put there is opened with the rights of root. Ordinary users keep their account.
"""

import contextlib
import ctypes
import importlib.util
import os
import pwd
import sys
from collections.abc import MutableMapping
from pathlib import Path

from ops.stack import guard
from ops.stack.account import (
    PASSING_CAPABILITIES,
    Account,
    find_access,
    find_service_account,
    passing_capability,
)
from ops.stack.errors import CannotStart
from ops.stack.state import StateFolder

ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = (
    "backups",
    "drill-runs",
    "drill-work",
    "drills",
    "load",
    "log",
    "postgres",
    "routing",
    "run",
    "static",
    "valkey",
)
NAMES = frozenset((*_FOLDERS, "secret_key", "staff.json", "lost+found"))
"""All that this and earlier releases make at the top of a state folder."""

# From linux/prctl.h, linux/securebits.h and linux/capability.h.
_PR_SET_SECUREBITS, _NO_SETUID_FIXUP = 28, 1 << 2
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_PR_CAP_AMBIENT, _AMBIENT_RAISE, _AMBIENT_CLEAR_ALL = 47, 2, 4
_CAPABILITY_VERSION_3 = 0x20080522

_started_as = os.getuid()


def typed_by() -> int:
    """The number of the account that started this process, also after it has become another one."""
    return _started_as


def leave_root(folder: Path) -> str:
    """For `scripts/up`: as root, take over the state folder for its account and become that account.

    Returns the sentence that says so; nothing for an ordinary user. Raises CannotStart.
    """
    if os.geteuid() != 0:
        return ""
    entry = find_service_account()
    folder = folder.absolute()
    ended = _take_over(folder, Account(uid=entry.pw_uid, gid=entry.pw_gid))
    account = become_with_access(entry, folder)
    told = f"Started as root. Everything here runs as the account {entry.pw_name}, which owns {folder}."
    if account.prefix:
        told += (
            f" It has the capability {passing_capability()}, because it may not enter every folder on the way there. "
            "Put project and state folder where every account may enter, and it needs none."
        )
    return f"{told}\n{ended}" if ended else told


def follow_state_folder(environ: MutableMapping[str, str] = os.environ) -> None:
    """For commands: as root, become the account of the state folder if root's `scripts/up` has handed it over.

    Ends the program with a sentence where that account cannot get to the folder.
    """
    if os.geteuid() != 0:
        return
    folder = Path(environ.get("COMPANION_STATE_DIR") or ROOT / "var").absolute()
    try:
        # Every later look follows links too, and then with the rights of the account.
        owner = os.stat(folder).st_uid
    except OSError:
        return
    try:
        if owner != 0 and owner == (entry := find_service_account()).pw_uid:
            become_with_access(entry, folder)
    except CannotStart as refusal:
        sys.stderr.write(f"{refusal}\n")
        raise SystemExit(1) from None


def become_with_access(entry: pwd.struct_passwd, folder: Path) -> Account:
    """Become this account, with its one capability where it cannot get to `folder` or the project without."""
    packages = importlib.util.find_spec("psycopg")
    reads: list[str | Path] = [ROOT / "manage.py", os.__file__]
    if packages is not None and packages.origin is not None:
        reads.append(packages.origin)
    account = find_access(entry, folder, Path(sys.executable), reads=reads)
    _become(entry, capability=passing_capability() if account.prefix else None)
    # Libraries look for files of their own in the home of root, where this account sees nothing.
    os.environ.update(HOME=str(folder), USER=entry.pw_name, LOGNAME=entry.pw_name)
    return account


def _take_over(folder: Path, account: Account) -> str:
    """Hand a folder of root's own over, as it was made by a start of an earlier release or just now."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True)
    with account.open_folder(folder) as place:
        facts = os.fstat(place)
        if facts.st_uid == account.uid:
            return ""
        account.examine(place, folder)
        _refuse_what_is_not_ours(place, folder)
        was_broken_off = False
        with contextlib.ExitStack() as stack:
            if _is_run_by_root_alone(place):
                # By its descriptor, so that it stays the folder that was looked at.
                state = StateFolder(Path(f"/proc/self/fd/{place}"), called=folder)
                stack.enter_context(state.lock())
                # What an earlier release has left running as root is beyond the reach of the account.
                was_broken_off = guard.clear_up(state)
            account.hand_over(place, folder, mode=facts.st_mode & 0o755)
    return guard.BROKEN_OFF if was_broken_off else ""


def _is_run_by_root_alone(place: int) -> bool:
    """Whether lock and roster were written by root, or are not there yet. Others' are not opened with its rights."""
    try:
        run = os.open("run", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        found = [
            os.fstat(run),
            *(os.stat(name, dir_fd=run, follow_symlinks=False) for name in os.listdir(run)),
        ]
        return all(facts.st_uid == os.geteuid() for facts in found)
    finally:
        os.close(run)


def _refuse_what_is_not_ours(place: int, folder: Path) -> None:
    # A start with --state /root must not give all of it away.
    strange = sorted(
        name for name in os.listdir(place) if name not in NAMES and not name.endswith(".partial")
    )
    if strange:
        raise CannotStart(
            f"{folder} belongs to root and holds {strange[0]}, which this service has not made. Move it elsewhere or "
            "choose a folder of its own with --state: the folder is given to the account that everything here runs as."
        )


def _become(entry: pwd.struct_passwd, *, capability: str | None) -> None:
    """Give up all rights of root for good but one capability, in this process and in all that it starts."""
    number = None if capability is None else PASSING_CAPABILITIES[capability]
    _control(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    if number is not None:
        # Without this bit access() answers as if the account had no capability at all.
        _control(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP)
    try:
        os.setgroups([])
        os.setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid)
        os.setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid)
    except OSError as refusal:
        raise _no_way(refusal.errno) from None
    _keep_only(number)
    if number is not None:
        _control(_PR_CAP_AMBIENT, _AMBIENT_RAISE, number)
    _control(_PR_SET_NO_NEW_PRIVS, 1)
    # As for any program this account starts itself: the other ones of it may look at it.
    _control(_PR_SET_DUMPABLE, 1)


def _keep_only(number: int | None) -> None:
    kept = 0 if number is None else 1 << number
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    # Effective, permitted and inheritable: the low halves, then the high ones.
    sets = (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)
    _checked(_libc().capset(header, sets))


def _control(what: int, first: int, second: int = 0) -> None:
    words = [ctypes.c_ulong(word) for word in (first, second, 0, 0)]
    _checked(_libc().prctl(what, *words))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(answer: int) -> None:
    if answer != 0:
        raise _no_way(ctypes.get_errno())


def _no_way(number: int | None) -> CannotStart:
    why = os.strerror(number or 0)
    return CannotStart(
        f"This machine does not let root give up its rights ({why}). Start as an ordinary user."
    )
