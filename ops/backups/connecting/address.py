"""The address of a database. Its password is never printed and never passed as an argument."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
from psycopg import conninfo, pq

from ops.backups.run.errors import CouldNotRun

SECRET_KEYWORDS = frozenset({"password", "sslpassword", "oauth_client_secret"})
PASSED_VARIABLES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "KRB5CCNAME", "KRB5_CONFIG"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF"}
)
"""Environment variables passed to programs besides libpq's own."""
ACCOUNT_KEYWORDS = ("host", "hostaddr", "port", "user")


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """One database on one server. `repr` and `label` contain no secret."""

    keywords: Mapping[str, str] = field(repr=False)
    """Every libpq keyword that was given, including the password."""

    @classmethod
    def parse(cls, text: str, *, setting: str, may_name_several: bool = False) -> "Address":
        """Parse a URL or conninfo string. Raises CouldNotRun, which names `setting` and never quotes the text.

        `may_name_several`: of an address that names several servers, `find_primary` gives the one in use.
        """
        try:
            given = conninfo.conninfo_to_dict(text)
        except psycopg.ProgrammingError:
            raise CouldNotRun(f"{setting} is not a PostgreSQL address.") from None
        keywords = {name: str(value) for name, value in given.items() if value is not None}
        if not keywords.get("dbname"):
            raise CouldNotRun(f"{setting} names no database.", mend="Add the database's name.")
        address = cls(keywords=keywords)
        if address.names_several and not may_name_several:
            raise CouldNotRun(f"{setting} names several servers.", mend="Name one of them.")
        return address

    @property
    def database(self) -> str:
        return self.keywords["dbname"]

    @property
    def label(self) -> str:
        """Database, host and port as text, without user and password."""
        host = self.keywords.get("host") or self.keywords.get("hostaddr") or "the local socket"
        where = "a local socket" if host.startswith(("/", "@")) else host
        return f"{self.database} at {where}, port {self.keywords.get('port', '5432')}"

    @property
    def names_several(self) -> bool:
        """Whether it names several servers, of which libpq chooses one."""
        return "," in self.keywords.get("host", "") + self.keywords.get("hostaddr", "")

    @property
    def is_local(self) -> bool:
        """Whether the server certainly runs on this machine."""
        host = self.keywords.get("host", "")
        return host.startswith("/") or host in {"localhost", "127.0.0.1", "::1"}

    def list_public_keywords(self) -> dict[str, str]:
        """Return the keywords without secrets."""
        return {name: value for name, value in self.keywords.items() if name not in SECRET_KEYWORDS}

    def with_secrets_from(self, known: Iterable["Address"]) -> "Address":
        """Return a copy with the secrets of the first of `known` that has the same server and user."""
        for other in known:
            if all(self.keywords.get(name) == other.keywords.get(name) for name in ACCOUNT_KEYWORDS):
                return replace(self, keywords={**other.keywords, **self.keywords})
        return self

    def with_database(self, database: str) -> "Address":
        """Return the address of another database on the same server."""
        return replace(self, keywords={**self.keywords, "dbname": database})

    def find_primary(self, *, setting: str) -> "Address":
        """Return the address of the one server in use, so that every later connection leads to it.

        Raises CouldNotRun where none of several servers can be used.
        """
        # Sessions of a drill are read-only, which a server that must accept writes is refused for.
        keywords = {name: value for name, value in self.keywords.items() if name != "target_session_attrs"}
        if not self.names_several:
            return replace(self, keywords=keywords)
        try:
            with self.connect_as_service() as connection:
                info = connection.info
                keywords |= {"host": info.host, "port": str(info.port)}
        except psycopg.OperationalError:
            raise CouldNotRun(
                f"None of the servers that {setting} names accepts writes.",
                mend="Start the primary, or wait.",
            ) from None
        keywords.pop("hostaddr", None)
        return replace(self, keywords=keywords)

    def connect(self, options: Mapping[str, str], *, timeout_s: int = 10) -> psycopg.Connection[Any]:
        """Open a new autocommit connection that starts with these server settings."""
        stated = " ".join(f"-c {name}={_escape(value)}" for name, value in options.items())
        both = " ".join(part for part in (self.keywords.get("options", ""), stated) if part)
        asked: dict[str, Any] = {"connect_timeout": str(timeout_s), **self.keywords, "options": both}
        # A database without an encoding would answer with bytes.
        asked["client_encoding"] = "UTF8"
        return psycopg.connect(**asked, autocommit=True, prepare_threshold=None)

    def connect_as_service(self, *, timeout_s: int = 10) -> psycopg.Connection[Any]:
        """Connect as the service does, possibly through a pooler."""
        asked: dict[str, Any] = {"connect_timeout": str(timeout_s), **self.keywords}
        return psycopg.connect(**asked, autocommit=True, prepare_threshold=None)

    def make_environment(self, options: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment with which a PostgreSQL program connects, so that argv contains no address."""
        names = {
            option.keyword.decode(): option.envvar.decode()
            for option in pq.Conninfo.get_defaults()
            if option.envvar
        }
        # libpq's variables apply to our own connections and so to the program too. No other variable is passed:
        # some hold keys of the service.
        environment = {
            name: value
            for name, value in os.environ.items()
            if (name.startswith("PG") and name != "PGOPTIONS") or name in PASSED_VARIABLES
        }
        for keyword, value in self.keywords.items():
            if keyword not in names:
                raise CouldNotRun(
                    f"The address sets {keyword}, which cannot be passed to pg_dump by environment."
                )
            environment[names[keyword]] = value
        stated = " ".join(f"-c {name}={_escape(value)}" for name, value in (options or {}).items())
        both = " ".join(part for part in (self.keywords.get("options", ""), stated) if part)
        return (
            environment | {"LC_ALL": "C", "PGCONNECT_TIMEOUT": "15"} | ({"PGOPTIONS": both} if both else {})
        )


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
