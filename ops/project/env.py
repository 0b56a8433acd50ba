"""Reads the environment, once, with readers that refuse nonsense.

What the environment does not name is taken from a running `scripts/up`, which writes its addresses
to `run/environment.json` under the state folder.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ops.project import addresses
from ops.project.addresses import MailServer, SettingInvalid
from ops.project.mailboxes import is_mailbox

ROOT = Path(__file__).resolve().parents[2]
MAX_SUFFIX_CHARS = 16
AGE_PUBLIC_KEY = re.compile(r"age1[02-9ac-hj-np-z]{58}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One line of the reference table. `default` is text for readers; bounds are those of a number."""

    name: str
    default: str
    meaning: str
    low: int | None = None
    high: int | None = None
    former_name: str = ""


class Environment:
    """The settings of this process, read from `environ` and then from a running `scripts/up`.

    A reader that is given a `meaning` declares the setting: its name is known, and it stands in the reference.
    `shown` is the default as readers understand it, where the value itself is computed.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.declared: dict[str, Setting] = {}
        try:
            self.state_dir = Path(environ.get("COMPANION_STATE_DIR") or ROOT / "var").resolve()
        except (OSError, RuntimeError):
            raise SettingInvalid("COMPANION_STATE_DIR names a symlink loop.") from None
        self._running = self._read_running()

    def refuse_unknown(self) -> None:
        """Raise SettingInvalid for a COMPANION_ name that no reader has declared."""
        known = sorted(name for name in self.declared if name.startswith("COMPANION_"))
        former = {setting.former_name for setting in self.declared.values()}
        for name in sorted(self._environ):
            if name.startswith("COMPANION_") and name not in {*known, *former, "COMPANION_TEST"}:
                raise SettingInvalid(
                    f"{name} is not a setting of this service. Remove it, or correct its name. "
                    f"Known: {', '.join(known)}."
                )

    def declare(self, setting: Setting) -> None:
        """Make a setting known. Readers call it; call it directly for a setting that is read elsewhere."""
        self.declared[setting.name] = setting

    def _read_running(self) -> Mapping[str, str]:
        try:
            facts = json.loads((self.state_dir / "run" / "environment.json").read_text())
        except (OSError, ValueError):
            return {}
        return {name: str(value) for name, value in facts.items()} if isinstance(facts, dict) else {}

    def text(self, name: str, default: str = "", *, shown: str = "", meaning: str = "") -> str:
        """The value of `name`, of its systemd credential, of the file `name_FILE`, or of a running `scripts/up`."""
        if meaning:
            shown = shown or (f"`{default}`" if default else "none")
            self.declare(Setting(name=name, default=shown, meaning=meaning))
        if value := self._environ.get(name, "").strip():
            return value
        path = (
            self._find_credential(name)
            or self._environ.get(f"{name}_FILE")
            or self._running.get(f"{name}_FILE")
        )
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

    def _find_credential(self, name: str) -> str:
        """The file of the unit's `LoadCredential=` under the name of the setting in small letters; empty for none."""
        folder = self._environ.get("CREDENTIALS_DIRECTORY")
        path = Path(folder, name.lower()) if folder else None
        return str(path) if path is not None and path.is_file() else ""

    def need(self, name: str, *, shown: str = "", meaning: str = "") -> str:
        """As `text`, refusing an empty value."""
        value = self.text(name, shown=shown, meaning=meaning)
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

    def number(
        self, name: str, default: int, *, low: int, high: int, meaning: str, former_name: str = ""
    ) -> int:
        """A whole number from `low` to `high`. `former_name` is still read where `name` is not set."""
        self.declare(
            Setting(
                name=name,
                default=f"{default:,}",
                meaning=meaning,
                low=low,
                high=high,
                former_name=former_name,
            )
        )
        raw = self.text(name) or (self.text(former_name) if former_name else "")
        if not raw:
            return default
        try:
            value = int(raw)
        except ValueError:
            raise SettingInvalid(f"{name} must be a whole number; it is {raw!r}.") from None
        if not low <= value <= high:
            raise SettingInvalid(f"{name} must be from {low} to {high}; it is {value}.")
        return value

    def names(self, name: str, default: str = "", *, shown: str = "", meaning: str = "") -> list[str]:
        """A comma-separated list, without empty entries."""
        entries = self.text(name, default, shown=shown, meaning=meaning).split(",")
        return [entry.strip() for entry in entries if entry.strip()]

    def mailboxes(self, name: str, default: str = "", *, meaning: str = "") -> list[str]:
        """As `names`, where each entry is an e-mail address."""
        entries = self.names(name, default, meaning=meaning)
        for place, entry in enumerate(entries, start=1):
            if not is_mailbox(entry):
                # Never quote the value: where two settings were confused, it may be a password.
                raise SettingInvalid(
                    f"{name}: entry {place} is no e-mail address. Write each as ines@example.org, "
                    "with a comma between two."
                )
        return entries

    def other_address(self, name: str, usual: str, *, shown: str = "", meaning: str = "") -> str:
        """Another address of the database in use; `usual` unless it is set."""
        if meaning:
            self.declare(Setting(name=name, default=shown, meaning=meaning))
        # A database named in this shell wins over what runs on this machine.
        if self._is_set_here("DATABASE_URL") and not self._is_set_here(name):
            return usual
        return addresses.parse_postgres(name, self.text(name, usual))

    def queue(self, name: str, default: str, *, shown: str = "", meaning: str = "") -> str:
        """The address of a Valkey or Redis."""
        return addresses.parse_queue(name, self.text(name, default, shown=shown, meaning=meaning))

    def origins(self, name: str, *, shown: str = "", meaning: str = "") -> list[str]:
        """Exact origins, comma-separated."""
        entries = self.names(name, shown=shown, meaning=meaning)
        return [addresses.parse_origin(name, entry) for entry in entries]

    def web_address(
        self, name: str, default: str = "", *, shown: str = "", meaning: str = "", for_secrets: bool = False
    ) -> str:
        """An address that starts with https:// or http://; empty where none is set."""
        raw = self.text(name, default, shown=shown, meaning=meaning)
        return addresses.parse_web_address(name, raw, for_secrets=for_secrets)

    def mail_server(self, name: str, *, meaning: str = "") -> MailServer | None:
        """A mail server, as smtp://, smtp+tls:// (STARTTLS) or smtps://, with optional user and password."""
        raw = self.text(name, meaning=meaning)
        return addresses.parse_mail_server(name, raw) if raw else None

    def recipients(self, name: str, *, shown: str, meaning: str) -> tuple[str, ...]:
        """Public keys of age, one a line or between commas. Lines that begin with # are left out."""
        lines = self.text(name, shown=shown, meaning=meaning).splitlines()
        keys = [
            key for line in lines if not line.lstrip().startswith("#") for key in re.split(r"[\s,]+", line)
        ]
        keys = [key for key in keys if key]
        for place, key in enumerate(keys, start=1):
            if not AGE_PUBLIC_KEY.fullmatch(key):
                # Never quote the value: where two files were confused, it is the secret.
                raise SettingInvalid(
                    f"{name}: entry {place} is no public key of age. Each is one line that begins with age1; "
                    "age-keygen -y prints it."
                )
        if not keys and self._is_set_here(name):
            # An empty file must not make backups that are not encrypted.
            raise SettingInvalid(f"{name} or {name}_FILE is set, and holds no public key of age.")
        return tuple(keys)

    def file(self, name: str, *, meaning: str) -> Path | None:
        """The file that `name_FILE` or a systemd credential names, unread: only one command may need its content."""
        self.declare(Setting(name=f"{name}_FILE", default="none", meaning=meaning))
        path = self._find_credential(name) or self._environ.get(f"{name}_FILE", "").strip()
        return Path(path).absolute() if path else None

    def command(self, name: str, *, placeholders: Sequence[str], meaning: str) -> tuple[str, ...]:
        """A program and its arguments, as a JSON list in which each placeholder stands; empty where none is set."""
        raw = self.text(name, meaning=meaning)
        if not raw:
            return ()
        try:
            words = json.loads(raw)
        except ValueError:
            words = None
        if not isinstance(words, list) or not words or not all(isinstance(w, str) and w for w in words):
            raise SettingInvalid(
                f'{name} must be a program and its arguments as JSON: ["program", "argument", "argument"].'
            )
        if missing := [one for one in placeholders if not any(one in word for word in words[1:])]:
            raise SettingInvalid(f"{name}: {missing[0]} stands in none of its arguments.")
        return tuple(words)

    def _is_set_here(self, name: str) -> bool:
        return bool(
            self._environ.get(name) or self._find_credential(name) or self._environ.get(f"{name}_FILE")
        )

    def suffix(self, name: str, *, shown: str, meaning: str) -> str:
        """Up to 16 ASCII letters and digits."""
        value = self.text(name, shown=shown, meaning=meaning)
        if value and not (value.isascii() and value.isalnum() and len(value) <= MAX_SUFFIX_CHARS):
            raise SettingInvalid(
                f"{name} must be up to {MAX_SUFFIX_CHARS} letters and digits; it is {value!r}."
            )
        return value

    def choice(self, name: str, default: str, choices: Sequence[str], *, meaning: str) -> str:
        """One of a few words."""
        value = self.text(name, default, meaning=meaning)
        if value not in choices:
            raise SettingInvalid(
                f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}; it is {value!r}."
            )
        return value

    def flag(self, name: str, *, meaning: str) -> bool:
        """True or false, written 1/0, true/false, yes/no or on/off."""
        raw = self.text(name, "no", meaning=meaning).lower()
        if raw in {"1", "true", "yes", "on"}:
            return True
        if raw in {"0", "false", "no", "off"}:
            return False
        raise SettingInvalid(f"{name} must be yes or no; it is {raw!r}.")


def read_environment() -> Environment:
    return Environment(os.environ)
