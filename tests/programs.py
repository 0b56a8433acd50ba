"""Programs of the distribution that tests run, and ports for them."""

import os
import shutil
import socket


def find_program(name: str) -> str:
    """Where it is. Fails, rather than skips, when it is missing: scripts/test installs it, by this name."""
    # Not in the path of ordinary users.
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert found, f"{name} is missing: apt-get install {name}"
    return found


def find_free_port() -> int:
    """Return a port on which no process listens."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])
