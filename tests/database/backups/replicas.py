"""Further servers that a test of drills needs: a replica, another cluster, another major."""

import subprocess
from pathlib import Path
from urllib.parse import unquote

from ops.stack.account import choose_account
from ops.stack.postgres import EmbeddedPostgres, binary


def make_replica(primary: EmbeddedPostgres, folder: Path) -> EmbeddedPostgres:
    """A streaming replica of `primary`, not started yet."""
    account = choose_account(folder, binary("postgres"))
    account.own(folder)
    socket = primary.url.split("host=")[1]
    copied = subprocess.run(
        account.command(
            [
                binary("pg_basebackup"),
                "--write-recovery-conf",
                "--wal-method=stream",
                "--checkpoint=fast",
                f"--host={unquote(socket)}",
                "--port=5432",
                "--username=companion",
                f"--pgdata={folder / 'data'}",
            ]
        ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **account.popen_arguments(),
    )
    assert copied.returncode == 0, copied.stderr
    return EmbeddedPostgres(folder, settings={"fsync": "off"})
