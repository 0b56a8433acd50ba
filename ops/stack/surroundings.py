"""The environment of what `up` starts, and the part of it by which management commands find what runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

OWNER_ADDRESSES = ("OWNER_DATABASE_URL", "DIRECT_DATABASE_URL")
"""For migrations, backups and drills. No program that serves is given them."""
BY_FILE = ("SECRET_KEY", "BACKUP_KEY", "BACKUP_RECIPIENTS", "DATABASE_URL", *OWNER_ADDRESSES, "VALKEY_URL")
"""What commands need and what may stand in a file of its own."""
PLAIN = (
    "BACKUP_RECIPIENTS",
    "DATABASE_URL",
    *OWNER_ADDRESSES,
    "VALKEY_URL",
    "REHEARSAL_URL",
    "TRUSTED_ORIGINS",
)
ConfigurationStat = frozenset[tuple[str, int, int]]
CONFIGURATION = ("COMPANION_PERSONA", "COMPANION_ROUTING")


def is_named(environment: Mapping[str, str], name: str) -> bool:
    """Whether a setting is given, itself or by a file."""
    return bool(environment.get(name) or environment.get(f"{name}_FILE"))


def is_on(environment: Mapping[str, str], name: str) -> bool:
    """Whether a yes-or-no setting says yes. What makes no sense is refused by the first command that reads it."""
    return environment.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def merge_lists(named: str, own: Sequence[str]) -> str:
    """The entries of a comma-separated setting and the required ones, once each."""
    entries = [entry.strip() for entry in named.split(",") if entry.strip()]
    return ",".join(dict.fromkeys([*entries, *own]))


def select_for_commands(environment: Mapping[str, str], *, root: Path) -> dict[str, str]:
    """What commands of another shell must know to act on the same data. No secret that stands in no file yet.

    `root` is where the processes run: from there a relative path leads.
    """
    # Commands must read the same character and the same lanes as the processes that serve.
    own = sorted(name for name in environment if name.startswith("COMPANION_"))
    facts = {
        name: environment[name]
        for name in (*PLAIN, *own)
        if environment.get(name) and name != "COMPANION_STATE_DIR"
    }
    # A value goes before its file, here as in every process.
    files = [f"{name}_FILE" for name in BY_FILE if not environment.get(name)]
    paths = [name for name in (*files, *CONFIGURATION) if environment.get(name)]
    return facts | {name: str(root / environment[name]) for name in paths}


def withhold_owner_addresses(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program that serves: without the addresses of the role that owns the tables."""
    withheld = {*OWNER_ADDRESSES, *(f"{name}_FILE" for name in OWNER_ADDRESSES)}
    return {name: value for name, value in environment.items() if name not in withheld}


def stat_configuration(environment: Mapping[str, str], *, root: Path) -> ConfigurationStat:
    """What the configuration files look like from outside: name, time of change, size.

    Secrets that stand in files of their own are among them: a program that cannot read one refuses to start too.
    """
    names = [*CONFIGURATION, *(name for name in environment if name.endswith("_FILE"))]
    files = [root / environment[name] for name in names if environment.get(name)]
    found = set()
    for path in [*files, *(root / "personas" / "files").glob("*.toml")]:
        try:
            facts = path.stat()
        except OSError:
            continue
        found.add((str(path), facts.st_mtime_ns, facts.st_size))
    return frozenset(found)
