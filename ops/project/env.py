"""Reads the environment, once, with readers that refuse nonsense.

What the environment does not name is taken from a running `scripts/up`, which writes its addresses
to `run/environment.json` under the state folder.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ops.project.mailboxes import is_mailbox

ROOT = Path(__file__).resolve().parents[2]


class SettingInvalid(Exception):
    """A setting makes no sense. The text names the setting, what is wrong and the mend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A whole number with its default and its bounds."""

    default: int
    low: int
    high: int


NUMBERS: Mapping[str, Number] = {
    "COMPANION_CEILING": Number(default=32, low=1, high=10_000),
    "COMPANION_WAIT_CEILING_S": Number(default=45, low=1, high=600),
    "COMPANION_HOLD_S": Number(default=86_400, low=60, high=2_592_000),
    "COMPANION_TURN_BUDGET_S": Number(default=60, low=5, high=600),
    "COMPANION_ATTEMPTS": Number(default=4, low=1, high=10),
    "COMPANION_BREAKER_COOLDOWN_S": Number(default=15, low=1, high=300),
    "COMPANION_VISIT_S": Number(default=28_800, low=300, high=86_400),
    "COMPANION_PAGES_PER_VISIT": Number(default=20, low=1, high=1_000),
    "COMPANION_PAGES_PER_ADDRESS": Number(default=1_000, low=1, high=1_000_000),
    "COMPANION_SIGN_IN_TRIES": Number(default=30, low=1, high=10_000),
}
PATHS = ("COMPANION_PERSONA", "COMPANION_ROUTING", "COMPANION_STATE_DIR")
TEXTS = (
    "DATABASE_URL",
    "DIRECT_DATABASE_URL",
    "DRILL_TARGET_URL",
    "VALKEY_URL",
    "REHEARSAL_URL",
    "SECRET_KEY",
    "OPS_TOKEN",
    "ALERT_WEBHOOK_URL",
    "ALERT_FROM",
    "EMAIL_URL",
)
LISTS = ("ALLOWED_HOSTS", "TRUSTED_ORIGINS", "ALERT_EMAIL")
FLAGS = ("COMPANION_SECURE_COOKIES", "COMPANION_BEHIND_PROXY")
KNOWN = frozenset(NUMBERS) | frozenset(PATHS) | frozenset(TEXTS) | frozenset(LISTS) | frozenset(FLAGS)


@dataclass(frozen=True, kw_only=True, slots=True)
class MailServer:
    """Where e-mail is handed over."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False


MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


class Environment:
    """The settings of this process, read from `environ` and then from a running `scripts/up`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        unknown = sorted(
            name
            for name in environ
            if name.startswith("COMPANION_") and name not in KNOWN | {"COMPANION_TEST"}
        )
        if unknown:
            raise SettingInvalid(
                f"{unknown[0]} is not a setting of this service. Remove it, or correct its name. "
                f"Known: {', '.join(sorted(name for name in KNOWN if name.startswith('COMPANION_')))}."
            )
        self.state_dir = Path(environ.get("COMPANION_STATE_DIR") or ROOT / "var").resolve()
        self._running = self._read_running()

    def _read_running(self) -> Mapping[str, str]:
        try:
            facts = json.loads((self.state_dir / "run" / "environment.json").read_text())
        except (OSError, ValueError):
            return {}
        return {name: str(value) for name, value in facts.items()} if isinstance(facts, dict) else {}

    def text(self, name: str, default: str = "") -> str:
        """The value of `name`, of the file that `name_FILE` points at, or of a running `scripts/up`."""
        if value := self._environ.get(name, "").strip():
            return value
        path = self._environ.get(f"{name}_FILE") or self._running.get(f"{name}_FILE")
        if path:
            try:
                return Path(path).read_text().strip()
            except OSError as error:
                raise SettingInvalid(
                    f"{name}_FILE points at {path}, which cannot be read: {error.strerror}."
                ) from None
        return self._running.get(name, default)

    def need(self, name: str) -> str:
        """As `text`, refusing an empty value."""
        value = self.text(name)
        if not value:
            raise SettingInvalid(
                f"{name} is not set, and no running scripts/up was found under {self.state_dir}. "
                f"Start scripts/up, or set {name}."
            )
        return value

    def number(self, name: str) -> int:
        """The whole number `name` within its bounds."""
        rule = NUMBERS[name]
        raw = self.text(name)
        if not raw:
            return rule.default
        try:
            value = int(raw)
        except ValueError:
            raise SettingInvalid(f"{name} must be a whole number; it is {raw!r}.") from None
        if not rule.low <= value <= rule.high:
            raise SettingInvalid(f"{name} must be from {rule.low} to {rule.high}; it is {value}.")
        return value

    def names(self, name: str, default: str) -> list[str]:
        """A comma-separated list, without empty entries."""
        return [entry.strip() for entry in self.text(name, default).split(",") if entry.strip()]

    def addresses(self, name: str, default: str = "") -> list[str]:
        """As `names`, where each entry is an e-mail address."""
        entries = self.names(name, default)
        for place, entry in enumerate(entries, start=1):
            if not is_mailbox(entry):
                # Never the value: whoever mixed two settings up may have put a password here.
                raise SettingInvalid(
                    f"{name}: entry {place} is no e-mail address. Write each as ines@example.org, "
                    "with a comma between two."
                )
        return entries

    def web_address(self, name: str) -> str:
        """An address that starts with https:// or http://; empty where none is set."""
        raw = self.text(name)
        if raw and (urlsplit(raw).scheme not in ("http", "https") or not urlsplit(raw).hostname):
            # Never the value: the address of a webhook is its secret.
            raise SettingInvalid(f"{name} must be an address that starts with https:// or http://.")
        return raw

    def mail_server(self, name: str) -> MailServer | None:
        """A mail server, as smtp://, smtp+tls:// (STARTTLS) or smtps:// with user and password if it wants them."""
        raw = self.text(name)
        if not raw:
            return None
        parts = urlsplit(raw)
        try:
            port = parts.port or MAIL_PORTS[parts.scheme]
        except (ValueError, KeyError):
            port = 0
        if not port or not parts.hostname or parts.path.strip("/") or parts.query:
            raise SettingInvalid(
                f"{name} must look like smtp+tls://user:password@mail.example.org:587. "
                "It begins with smtp://, smtp+tls:// or smtps://."
            )
        return MailServer(
            host=parts.hostname,
            port=port,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            starttls=parts.scheme == "smtp+tls",
            tls=parts.scheme == "smtps",
        )

    def flag(self, name: str) -> bool:
        """True or false, written 1/0, true/false, yes/no or on/off."""
        raw = self.text(name, "no").lower()
        if raw in {"1", "true", "yes", "on"}:
            return True
        if raw in {"0", "false", "no", "off"}:
            return False
        raise SettingInvalid(f"{name} must be yes or no; it is {raw!r}.")


def read() -> Environment:
    """The environment of this process."""
    return Environment(os.environ)
