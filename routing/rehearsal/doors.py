"""Who may operate a rehearsal provider: those that can read its token, which is new at every start.

The token stands in a file of the account that started the provider, in a folder that both sides are given. It is
never an argument, nor in the environment, nor in a log.
"""

import contextlib
import os
import secrets
from collections.abc import Mapping
from hmac import compare_digest
from pathlib import Path
from urllib.parse import urlsplit

from routing.web_addresses import is_loopback


class Doors:
    """The provider's half. Without a folder for its token it accepts no operator."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._file: Path | None = None

    def open(self, folder: Path, port: int) -> None:
        """Write the token where operators look for it. Raises OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = token_file(folder, port)
        new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        # A random name, created exclusively: a link that another account placed there is not followed.
        with os.fdopen(
            os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w"
        ) as file:
            file.write(self._token)
        new.replace(path)
        self._file = path

    def shut(self) -> None:
        """Remove the token file."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.unlink()

    def why_not(self, headers: Mapping[str, str], *, loopback: bool) -> int | None:
        """The status with which a request is turned away; None: it may come in. Header names are in lower case."""
        if not loopback or self._file is None:
            return 404
        if not is_loopback(f"//{headers.get('host', '')}"):
            # A page of another site can make its own name lead to this machine.
            return 421
        given = headers.get("authorization", "").removeprefix("Bearer ").encode("utf-8", "replace")
        return None if compare_digest(given, self._token.encode()) else 401


def token_file(folder: Path, port: int) -> Path:
    """Where the token of the provider on this port stands."""
    return folder / f"rehearsal-{port}.token"


def operator_headers(folder: Path, address: str) -> dict[str, str]:
    """What an operator sends to the provider at this address; nothing if there is no token that can be read."""
    parts = urlsplit(address)
    try:
        token = token_file(folder, parts.port or 0).read_text().strip()
    except (OSError, ValueError):
        return {}
    return {"Authorization": f"Bearer {token}"}


def is_of_a_page(headers: Mapping[str, str]) -> bool:
    """Whether a web page makes this request. The service and its commands are none."""
    return "origin" in headers or headers.get("sec-fetch-site", "none") != "none"
