"""Reads the addresses among the settings. What makes no sense is refused without saying it: it may hold a password."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import dj_database_url
import psycopg
from psycopg.conninfo import conninfo_to_dict
from redis.connection import parse_url

VANISHED_SERVER = {
    "connect_timeout": 5,
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 8_000,
}
"""Options of libpq with which a connection whose other end has vanished is noticed within a lease."""

MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


class SettingInvalid(Exception):
    """A setting makes no sense. The text names the setting, what is wrong and the mend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MailServer:
    """Where e-mail is handed over."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False


def postgres(name: str, raw: str) -> str:
    """The address of a PostgreSQL, as libpq reads it."""
    try:
        conninfo_to_dict(raw)
    except psycopg.Error:
        raise _no_postgres(name) from None
    if not raw.startswith(("postgresql://", "postgres://")):
        raise _no_postgres(name)
    return raw


def database(name: str, raw: str) -> dict[str, Any]:
    """The same, as Django names it."""
    try:
        return dict(dj_database_url.parse(postgres(name, raw)))
    except ValueError:
        raise _no_postgres(name) from None


def queue(name: str, raw: str) -> str:
    """The address of a Valkey or Redis."""
    try:
        parse_url(raw)  # type: ignore[no-untyped-call]
    except ValueError:
        raise SettingInvalid(f"{name} must look like redis://127.0.0.1:6379/0.") from None
    return raw


def origin(name: str, raw: str) -> str:
    """What a browser calls an origin: a scheme, a host, perhaps a port, and nothing after it."""
    found = raw.rstrip("/")
    parts = _parts(found)
    if parts is None or parts.scheme not in ("http", "https") or parts.path or parts.query or parts.fragment:
        raise SettingInvalid(f"{name} must name origins such as https://talk.example.org; one is {raw!r}.")
    return found


def web(name: str, raw: str) -> str:
    """An address that starts with https:// or http://, or nothing."""
    parts = _parts(raw)
    if raw and (parts is None or parts.scheme not in ("http", "https")):
        raise SettingInvalid(f"{name} must be an address that starts with https:// or http://.")
    return raw


def mail_server(name: str, raw: str) -> MailServer:
    """A mail server: smtp://, smtp+tls:// (STARTTLS) or smtps://, with user and password if it wants them."""
    parts = _parts(raw)
    port = 0 if parts is None else parts.port or MAIL_PORTS.get(parts.scheme, 0)
    if parts is None or parts.scheme not in MAIL_PORTS or not port or parts.path.strip("/") or parts.query:
        raise SettingInvalid(
            f"{name} must look like smtp+tls://user:password@mail.example.org:587. "
            "It begins with smtp://, smtp+tls:// or smtps://."
        )
    return MailServer(
        host=parts.hostname or "",
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme == "smtps",
    )


def _parts(raw: str) -> SplitResult | None:
    """An address taken apart. None: it is none, its port is no port, or it names no host."""
    try:
        parts = urlsplit(raw)
        # To ask for the port is what finds a port that is none.
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def _no_postgres(name: str) -> SettingInvalid:
    return SettingInvalid(f"{name} must look like postgresql://user@host:5432/name.")
