"""Reads the environment, once, with readers that refuse nonsense.

What the environment does not name is taken from a running `scripts/up`, which writes its addresses
to `run/environment.json` under the state folder.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.project import addresses
from ops.project.addresses import MailServer, SettingInvalid
from ops.project.mailboxes import is_mailbox

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A whole number with its default and its bounds."""

    default: int
    low: int
    high: int


NUMBERS: Mapping[str, Number] = {
    "COMPANION_CEILING": Number(default=32, low=1, high=10_000),
    "COMPANION_WAIT_CEILING_S": Number(default=45, low=1, high=600),
    "COMPANION_HOLD_S": Number(default=7_200, low=60, high=2_592_000),
    "COMPANION_KEEP_S": Number(default=86_400, low=60, high=2_592_000),
    "COMPANION_STILL_HERE_S": Number(default=6, low=1, high=60),
    "COMPANION_TURN_BUDGET_S": Number(default=60, low=5, high=600),
    "COMPANION_ATTEMPTS": Number(default=4, low=1, high=10),
    "COMPANION_BREAKER_COOLDOWN_S": Number(default=15, low=1, high=300),
    "COMPANION_VISIT_S": Number(default=28_800, low=300, high=86_400),
    "COMPANION_PAGES_PER_PERSON": Number(default=20, low=1, high=1_000),
    "COMPANION_PAGES_PER_ADDRESS": Number(default=1_000, low=1, high=1_000_000),
    "COMPANION_SIGN_IN_TRIES": Number(default=30, low=1, high=10_000),
}
FORMER_NAMES: Mapping[str, str] = {"COMPANION_PAGES_PER_PERSON": "COMPANION_PAGES_PER_VISIT"}
"""Names of the releases before, which are still read where the present one is not set."""
PATHS = ("COMPANION_PERSONA", "COMPANION_ROUTING", "COMPANION_STATE_DIR")
TEXTS = (
    "DATABASE_URL",
    "DIRECT_DATABASE_URL",
    "OWNER_DATABASE_URL",
    "DRILL_TARGET_URL",
    "VALKEY_URL",
    "REHEARSAL_URL",
    "SECRET_KEY",
    "BACKUP_KEY",
    "OPS_TOKEN",
    "ALERT_WEBHOOK_URL",
    "ALERT_FROM",
    "EMAIL_URL",
)
LISTS = ("ALLOWED_HOSTS", "TRUSTED_ORIGINS", "ALERT_EMAIL")
FLAGS = ("COMPANION_SECURE_COOKIES", "COMPANION_BEHIND_PROXY", "COMPANION_REHEARSED")
KNOWN = frozenset(NUMBERS) | frozenset(PATHS) | frozenset(TEXTS) | frozenset(LISTS) | frozenset(FLAGS)


class Environment:
    """The settings of this process, read from `environ` and then from a running `scripts/up`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        unknown = sorted(
            name
            for name in environ
            if name.startswith("COMPANION_")
            and name not in KNOWN | frozenset(FORMER_NAMES.values()) | {"COMPANION_TEST"}
        )
        if unknown:
            raise SettingInvalid(
                f"{unknown[0]} is not a setting of this service. Remove it, or correct its name. "
                f"Known: {', '.join(sorted(name for name in KNOWN if name.startswith('COMPANION_')))}."
            )
        try:
            self.state_dir = Path(environ.get("COMPANION_STATE_DIR") or ROOT / "var").resolve()
        except (OSError, RuntimeError):
            raise SettingInvalid("COMPANION_STATE_DIR names a folder whose links lead in a circle.") from None
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
                return Path(path).read_text(encoding="utf-8").strip()
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not text"
                raise SettingInvalid(
                    f"{name}_FILE points at {path}, which cannot be read: {why}. "
                    "Give this account that file to read, or name another."
                ) from None
        return self._running.get(name, default)

    def need(self, name: str) -> str:
        """As `text`, refusing an empty value."""
        value = self.text(name)
        if value:
            return value
        if self._running:
            # What stood in its environment is a secret, and is written into no file.
            raise SettingInvalid(
                f"{name} is not set. A scripts/up runs from {self.state_dir}; its {name} came from its "
                f"environment. Set it here too, or keep it in a file and name that as {name}_FILE for both."
            )
        raise SettingInvalid(
            f"{name} is not set, and no running scripts/up was found under {self.state_dir}. "
            f"Start scripts/up, name its folder with COMPANION_STATE_DIR, or set {name}."
        )

    def number(self, name: str) -> int:
        """The whole number `name` within its bounds."""
        rule = NUMBERS[name]
        raw = self.text(name)
        if not raw and name in FORMER_NAMES:
            raw = self.text(FORMER_NAMES[name])
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

    def database(self) -> dict[str, Any]:
        """The database in use, as Django names it."""
        return addresses.database("DATABASE_URL", self.need("DATABASE_URL"))

    def other_address(self, name: str, usual: str) -> str:
        """Another address of the database in use; `usual` unless it is set."""
        # Whoever names another database in this shell means that one, whatever runs on this machine.
        if self._is_set_here("DATABASE_URL") and not self._is_set_here(name):
            return usual
        return addresses.postgres(name, self.text(name, usual))

    def queue(self, name: str, default: str) -> str:
        """The address of a Valkey or Redis."""
        return addresses.queue(name, self.text(name, default))

    def origins(self, name: str) -> list[str]:
        """Exact origins, comma-separated."""
        return [addresses.origin(name, one) for one in self.names(name, "")]

    def web_address(self, name: str, default: str = "") -> str:
        """An address that starts with https:// or http://; empty where none is set."""
        return addresses.web(name, self.text(name, default))

    def mail_server(self, name: str) -> MailServer | None:
        """A mail server, as smtp://, smtp+tls:// (STARTTLS) or smtps:// with user and password if it wants them."""
        raw = self.text(name)
        return addresses.mail_server(name, raw) if raw else None

    def _is_set_here(self, name: str) -> bool:
        return bool(self._environ.get(name) or self._environ.get(f"{name}_FILE"))

    def flag(self, name: str) -> bool:
        """True or false, written 1/0, true/false, yes/no or on/off."""
        raw = self.text(name, "no").lower()
        if raw in {"1", "true", "yes", "on"}:
            return True
        if raw in {"0", "false", "no", "off"}:
            return False
        raise SettingInvalid(f"{name} must be yes or no; it is {raw!r}.")


def _folder(raw: str) -> Path:
    try:
        return Path(raw).resolve()
    except (OSError, RuntimeError):
        raise SettingInvalid(f"COMPANION_STATE_DIR names {raw}, whose links lead in a circle.") from None


def read() -> Environment:
    """The environment of this process."""
    return Environment(os.environ)
