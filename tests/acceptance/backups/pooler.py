"""A real PgBouncer before a real server, on a free port of this machine."""

import contextlib
import os
import pwd
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from ops.stack.account import ACCOUNTS
from tests.patience import wait_until
from tests.programs import find_free_port, find_program

Mode = Literal["session", "transaction"]
START_WITHIN_S = 20


@contextmanager
def pooler(
    folder: Path,
    server_url: str,
    *,
    mode: Mode,
    lets_options_pass: bool = False,
    database: str = "live",
    pool_size: int = 20,
) -> Iterator[str]:
    """The address of a pooler whose catch-all entry leads every name to `database`."""
    port = find_free_port()
    socket_folder = unquote(server_url.split("host=")[1])
    ignored = "ignore_startup_parameters = options,extra_float_digits\n" if lets_options_pass else ""
    folder.mkdir(mode=0o755, exist_ok=True)
    (folder / "users.txt").write_text('"companion" ""\n')
    (folder / "pgbouncer.ini").write_text(
        "[databases]\n"
        f"* = host={socket_folder} port=5432 dbname={database} user=companion\n"
        "[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {folder}/users.txt\npool_mode = {mode}\n"
        f"default_pool_size = {pool_size}\n"
        f"logfile = {folder}/log\n{ignored}"
    )
    account = _find_account()
    for path in (folder, *folder.iterdir()):
        if account is not None:
            os.chown(path, account.pw_uid, account.pw_gid)
    who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    said = (folder / "said").open("wb")
    process = subprocess.Popen(
        [find_program("pgbouncer"), "-q", str(folder / "pgbouncer.ini")],
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        **who,  # type: ignore[call-overload]
    )
    try:
        _wait_for_port(process, port, folder / "said")
        yield f"postgresql://companion@127.0.0.1:{port}/{database}"
    finally:
        process.terminate()
        process.wait(10)
        said.close()


def _find_account() -> pwd.struct_passwd | None:
    # It refuses to run as root, and the server's socket lets its own account in alone.
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise AssertionError(f"none of the accounts {ACCOUNTS} is there")


def _wait_for_port(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    def listens() -> bool:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    wait_until(listens, within_s=START_WITHIN_S)
