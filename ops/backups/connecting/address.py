"""Where a database is, with the password kept apart so that it is never printed and never in an argument."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
from psycopg import conninfo, pq

from ops.backups.run.errors import CouldNotRun

SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret"})
HANDED_ON = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "KRB5CCNAME", "KRB5_CONFIG"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF"}
)
"""What a program needs besides libpq's own variables."""
ACCOUNT = ("host", "hostaddr", "port", "user")


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """One database on one server. `repr` and `label` hold no secret."""

    keywords: Mapping[str, str] = field(repr=False)
    """Every libpq keyword that was given, the password among them."""

    @classmethod
    def of(cls, text: str, *, setting: str) -> "Address":
        """Read a URL or a conninfo string. Raises CouldNotRun naming `setting`, never the text itself."""
        try:
            given = conninfo.conninfo_to_dict(text)
        except psycopg.ProgrammingError:
            raise CouldNotRun(f"{setting} is not a PostgreSQL address.") from None
        keywords = {name: str(value) for name, value in given.items() if value is not None}
        if not keywords.get("dbname"):
            raise CouldNotRun(f"{setting} names no database.", mend="Add its name.")
        if "," in keywords.get("host", "") + keywords.get("hostaddr", ""):
            raise CouldNotRun(f"{setting} names several servers.", mend="Name the one to use.")
        return cls(keywords=keywords)

    @property
    def database(self) -> str:
        """The database's name."""
        return self.keywords["dbname"]

    @property
    def label(self) -> str:
        """The server and the database in words for people: no user, no password."""
        host = self.keywords.get("host") or self.keywords.get("hostaddr") or "the local socket"
        where = "a local socket" if host.startswith(("/", "@")) else host
        return f"{self.database} at {where}, port {self.keywords.get('port', '5432')}"

    @property
    def is_local(self) -> bool:
        """Whether the server surely runs on this machine."""
        host = self.keywords.get("host", "")
        return host.startswith("/") or host in {"localhost", "127.0.0.1", "::1"}

    def without_secrets(self) -> dict[str, str]:
        """The keywords that may be written down."""
        return {name: value for name, value in self.keywords.items() if name not in SECRETS}

    def with_secrets_of(self, known: Iterable["Address"]) -> "Address":
        """The same, with the secrets of the first known address for the same account of the same server."""
        for other in known:
            if all(self.keywords.get(name) == other.keywords.get(name) for name in ACCOUNT):
                return replace(self, keywords={**other.keywords, **self.keywords})
        return self

    def to(self, database: str) -> "Address":
        """Another database of the same server."""
        return replace(self, keywords={**self.keywords, "dbname": database})

    def connect(self, options: Mapping[str, str], *, timeout_s: int = 10) -> psycopg.Connection[Any]:
        """A plain connection of its own, in autocommit, with these server settings from its first moment."""
        stated = " ".join(f"-c {name}={_escaped(value)}" for name, value in options.items())
        both = " ".join(part for part in (self.keywords.get("options", ""), stated) if part)
        asked: dict[str, Any] = {"connect_timeout": str(timeout_s), **self.keywords, "options": both}
        return psycopg.connect(**asked, autocommit=True, prepare_threshold=None)

    def connect_plainly(self, *, timeout_s: int = 10) -> psycopg.Connection[Any]:
        """As the service itself connects: through a pooler, if that is what the address leads to."""
        asked: dict[str, Any] = {"connect_timeout": str(timeout_s), **self.keywords}
        return psycopg.connect(**asked, autocommit=True, prepare_threshold=None)

    def environment(self, options: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a PostgreSQL program needs in its environment to connect: all of it, so that argv holds none."""
        names = {
            option.keyword.decode(): option.envvar.decode()
            for option in pq.Conninfo.get_defaults()
            if option.envvar
        }
        # What libpq takes from the environment for our own connections it takes for the program too. Nothing else of
        # ours goes along: no key of the service.
        environment = {
            name: value
            for name, value in os.environ.items()
            if (name.startswith("PG") and name != "PGOPTIONS") or name in HANDED_ON
        }
        for keyword, value in self.keywords.items():
            if keyword not in names:
                raise CouldNotRun(f"The address sets {keyword}, which cannot be handed to pg_dump safely.")
            environment[names[keyword]] = value
        stated = " ".join(f"-c {name}={_escaped(value)}" for name, value in (options or {}).items())
        both = " ".join(part for part in (self.keywords.get("options", ""), stated) if part)
        return (
            environment | {"LC_ALL": "C", "PGCONNECT_TIMEOUT": "15"} | ({"PGOPTIONS": both} if both else {})
        )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
