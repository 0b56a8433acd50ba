"""Parses addresses in settings. A refusal never quotes the address: it may hold a password."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import dj_database_url
import psycopg
from psycopg.conninfo import conninfo_to_dict
from redis.connection import parse_url

from ops.project.primary import split_servers
from routing.web_addresses import is_private_way

VANISHED_SERVER = {
    "connect_timeout": 5,
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 8_000,
}
"""Options of libpq: a connection to a vanished server fails within a lease."""

SEVERAL_SERVERS = {**VANISHED_SERVER, "connect_timeout": 2}
"""The same for one of several servers: the next is tried within the time that a caller waits for a connection."""

RECONNECT_TIMEOUT_S = 2.0
"""A pool doubles the delay before each next attempt until this is over. Then the next caller makes it try at once."""

MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


class SettingInvalid(Exception):
    """A setting is invalid. The text names the setting, what is wrong and the mend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MailServer:
    """The server that e-mail is sent through."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False


def parse_postgres(name: str, raw: str) -> str:
    """The address of a PostgreSQL, or of several, unchanged.

    Raises SettingInvalid where libpq cannot read it, and where it does not say which of several servers to use.
    """
    try:
        options = conninfo_to_dict(raw)
        servers = split_servers(options)
    except (psycopg.Error, ValueError):
        raise _not_postgres(name) from None
    if not raw.startswith(("postgresql://", "postgres://")):
        raise _not_postgres(name)
    if len(servers) > 1 and not follows_primary(raw):
        raise SettingInvalid(
            f"{name} names several servers and does not say which of them to use. "
            "Add target_session_attrs=read-write: the one that accepts writes."
        )
    return raw


def follows_primary(url: str) -> bool:
    """Whether connections by this address go to the server that accepts writes."""
    return conninfo_to_dict(url).get("target_session_attrs") == "read-write"


def parse_database(name: str, raw: str) -> dict[str, Any]:
    """The same as an entry of Django's DATABASES."""
    options = conninfo_to_dict(parse_postgres(name, raw))
    if len(split_servers(options)) > 1:
        # A list of ports is beyond `urllib.parse`. Django passes lists on to libpq.
        fields = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
        named = {field: str(options.pop(keyword, "")) for keyword, field in fields.items()}
        return {**dj_database_url.parse("postgresql:///"), **named, "OPTIONS": options}
    try:
        return dict(dj_database_url.parse(raw))
    except ValueError:
        raise _not_postgres(name) from None


def parse_queue(name: str, raw: str) -> str:
    """The address of a Valkey or Redis."""
    try:
        parse_url(raw)  # type: ignore[no-untyped-call]
    except ValueError:
        raise SettingInvalid(f"{name} must look like redis://127.0.0.1:6379/0.") from None
    return raw


def parse_origin(name: str, raw: str) -> str:
    """A scheme, a host and an optional port, as browsers send an origin."""
    origin = raw.rstrip("/")
    parts = _split(origin)
    if parts is None or parts.scheme not in ("http", "https") or parts.path or parts.query or parts.fragment:
        raise SettingInvalid(f"{name} must name origins such as https://talk.example.org; one is {raw!r}.")
    return origin


def parse_web_address(name: str, raw: str, *, for_secrets: bool = False) -> str:
    """An address that starts with https:// or http://, or nothing. `for_secrets`: http:// on this machine alone."""
    parts = _split(raw)
    if raw and (parts is None or parts.scheme not in ("http", "https")):
        raise SettingInvalid(f"{name} must be an address that starts with https:// or http://.")
    if raw and for_secrets and not is_private_way(raw):
        raise SettingInvalid(f"{name} must start with https://: what is sent there is secret on the way.")
    return raw


def parse_mail_server(name: str, raw: str) -> MailServer:
    """A mail server: smtp://, smtp+tls:// (STARTTLS) or smtps://, with optional user and password."""
    parts = _split(raw)
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


def _split(raw: str) -> SplitResult | None:
    """The parts of an address; None where it is not one, names no host, or has an invalid port."""
    try:
        parts = urlsplit(raw)
        # Reading `port` raises for an invalid one.
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def _not_postgres(name: str) -> SettingInvalid:
    return SettingInvalid(f"{name} must look like postgresql://user@host:5432/name.")
