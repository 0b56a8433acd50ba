"""What `ops/deploy/` starts exists, takes these arguments, and shares one environment."""

import re
import shlex
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest
from celery.bin.celery import celery
from django.conf import settings
from django.core.management import get_commands, load_command_class

from ops.stack.unavailable import PAGES

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {setting.name for setting in settings.DECLARED_SETTINGS}
DEPLOY = ROOT / "ops" / "deploy"
SERVICES = sorted(DEPLOY.glob("*.service"))
RUNS = {"companion-web@", "companion-worker", "companion-beat", "companion-backup", "companion-restore-drill"}


MAX_EXPOSURE = 1.5
"""As `systemd-analyze security` judges, from 0 (nothing open) to 10."""


def unit(path: Path) -> RawConfigParser:
    read = RawConfigParser(strict=False, delimiters=("=",))
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read(path)
    return read


def words_of(command: str) -> list[str]:
    """What the program is given, without the shell that may stand around it."""
    words = shlex.split(command.replace("%i", "8001"))
    return shlex.split(words[2]) if words[0] == "/bin/sh" else words


def test_there_is_a_unit_for_everything_that_up_starts_and_for_the_nights() -> None:
    assert {path.stem for path in SERVICES} == RUNS
    assert {path.stem for path in DEPLOY.glob("*.timer")} == {"companion-backup", "companion-restore-drill"}


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_a_unit_starts_a_command_that_exists_with_arguments_that_it_takes(path: Path) -> None:
    words = words_of(unit(path)["Service"]["ExecStart"])
    start = next(place for place, word in enumerate(words) if word.endswith("python"))
    assert words[start] in {"/opt/companion/.venv/bin/python", ".venv/bin/python"}
    program, *arguments = words[start + 1 :]
    if program == "manage.py":
        name, *given = arguments
        command = load_command_class(get_commands()[name], name)
        given = [word if word[:2] != "$$" else "/srv/backups/x" for word in given]
        # It leaves the test with code 2 if it does not know one of them.
        command.create_parser("manage.py", name).parse_args(given)
    else:
        assert (program, arguments[:3]) == ("-m", ["celery", "--app", "ops.project.celery"])
        part = celery.commands[arguments[3]]
        _, left, _ = part.make_parser(part.context_class(part)).parse_args(arguments[4:])
        assert left == []


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_all_of_them_share_one_environment_and_one_account(path: Path) -> None:
    service = unit(path)["Service"]
    assert service["EnvironmentFile"] == "/etc/companion/environment"
    assert (service["User"], service["WorkingDirectory"]) == ("companion", "/opt/companion")
    assert "/srv/companion" in service["ReadWritePaths"].split()
    # Not in the environment that commands share: their lines are for the terminal.
    assert service["Environment"] == "COMPANION_LOG=journal"


def get_values(path: Path, name: str) -> list[str]:
    """Every value of a key that may stand several times."""
    return re.findall(rf"^{name}=(.*)$", path.read_text(), re.M)


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    for path in [*SERVICES, *DEPLOY.glob("*.timer"), *DEPLOY.glob("*.target")]:
        # The program that they start is not at its place here.
        (tmp_path / path.name).write_text(
            path.read_text().replace("/opt/companion/.venv/bin/python", "/bin/true")
        )

    run = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *sorted(map(str, tmp_path.iterdir()))],
        env={"PATH": "/usr/bin:/bin", "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (run.returncode, run.stdout + run.stderr) == (0, "")


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_a_unit_leaves_the_service_no_more_than_it_needs(path: Path) -> None:
    judged = subprocess.run(
        [
            *("systemd-analyze", "security", "--offline=true", "--no-pager"),
            *(f"--threshold={MAX_EXPOSURE * 10:.0f}", str(path)),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert f"exposure level for {path.stem.replace('@', '@i')}.service: " in judged.stdout


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_a_unit_is_given_its_secrets_as_credentials_and_what_serves_not_those_of_the_owner(
    path: Path,
) -> None:
    given = dict(value.split(":", 1) for value in get_values(path, "LoadCredential"))
    files = dict(re.findall(r"^(\w+)_FILE=(\S+)$", (DEPLOY / "environment.example").read_text(), re.M))

    assert all(files[name.upper()] == place for name, place in given.items())
    is_owners = {"OWNER_DATABASE_URL", "DIRECT_DATABASE_URL"}
    withheld = {name.removesuffix("_FILE") for name in " ".join(get_values(path, "UnsetEnvironment")).split()}
    assert withheld | {name.upper() for name in given} == set(files)
    serves = path.stem in {"companion-web@", "companion-worker", "companion-beat"}
    assert withheld == (is_owners if serves else set())


def test_the_target_wants_units_that_are_there_and_beat_once() -> None:
    text = (DEPLOY / "companion.target").read_text()
    wanted = re.findall(r"companion-[\w@.-]+", text)
    assert all((DEPLOY / re.sub(r"@\d+", "@", name)).exists() for name in wanted)
    assert sum("beat" in name for name in wanted) == 1


def test_the_example_environment_names_settings_that_exist_and_holds_no_secret() -> None:
    lines = (DEPLOY / "environment.example").read_text().splitlines()
    named = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    # The key of a lane bears the name that the routing file gives it.
    assert {name.removesuffix("_FILE") for name in named} - KNOWN == {"OPENAI_API_KEY"}
    assert "SECRET_KEY" not in named and named["OPENAI_API_KEY"] == ""


def test_the_proxy_knows_the_ports_sets_the_callers_address_and_upgrades_sockets() -> None:
    text = (DEPLOY / "nginx.example.conf").read_text()
    ports = set(re.findall(r"companion-web@(\d+)", (DEPLOY / "companion.target").read_text()))
    assert set(re.findall(r"server 127\.0\.0\.1:(\d+) max_fails=0;", text)) == ports
    assert "proxy_set_header X-Real-IP $remote_addr;" in text
    assert "proxy_set_header Upgrade $http_upgrade;" in text
    assert "proxy_set_header X-Request-ID $request_id;" in text
    assert re.search(r"log_format companion '[^']+ \$request_id'", text)
    assert text.count("{") == text.count("}")


def test_the_proxy_writes_no_address_of_a_card_into_a_log() -> None:
    text = (DEPLOY / "nginx.example.conf").read_text()
    [format_] = re.findall(r"log_format companion '([^']+)'", text)
    assert "referer" not in format_ and "$request " not in format_
    assert re.findall(r"access_log .+", text) == [
        "access_log /var/log/nginx/companion.log companion if=$is_told;"
    ]
    assert re.search(r"error_log .+ crit;", text)
    [rule] = re.findall(r"~\*(\S+) 0;", text)
    assert (
        re.match(rule, "/card/abcdef/")
        and re.match(rule, "//Card/abcdef/", re.I)
        and not re.match(rule, "/chat/")
    )


def test_the_proxy_writes_no_name_that_staff_searched_for_into_a_log() -> None:
    text = (DEPLOY / "nginx.example.conf").read_text()
    [format_] = re.findall(r"log_format companion '([^']+)'", text)
    assert "$told_path" in format_ and not re.search(r"\$(request_uri|args|query_string)\b", format_)
    [rule] = re.findall(r"~(\S+)\s+\$path;", text)
    told = re.match(rule, "/ops/cards/?name=Rosa&site=willow-house")
    assert told and told["path"] == "/ops/cards/"
    assert not re.match(rule, "/ops/cards/")


def test_the_page_that_stands_in_is_whole_behind_the_proxy_too() -> None:
    text = (DEPLOY / "nginx.example.conf").read_text()
    rules = [(re.compile(rule), to) for rule, to in re.findall(r"rewrite (\S+) (\S+) break;", text)]
    pages = [path.read_text() for path in PAGES.values()]
    [asked, *others] = [set(re.findall(r'"(/static/[^"]+)"', page)) for page in pages]
    assert asked and all(one == asked for one in others)
    for address in asked:
        [file] = [rule.sub(to.replace("$1", r"\1"), address) for rule, to in rules if rule.match(address)]
        assert (ROOT / file.lstrip("/")).is_file()


@pytest.mark.parametrize(
    ("method", "accepted", "file"),
    [
        ("GET", "", "/unavailable.html"),
        ("GET", "en-GB,es;q=0.5", "/unavailable.html"),
        ("GET", "es-MX,en;q=0.5", "/unavailable.es.html"),
        ("GET", "ES", "/unavailable.es.html"),
        ("GET", "est", "/unavailable.html"),
        ("POST", "es", "/unavailable-after-a-form.es.html"),
        ("POST", "fr", "/unavailable-after-a-form.html"),
    ],
)
def test_the_proxy_chooses_that_page_by_the_language_that_the_browser_asks_for_first(
    method: str, accepted: str, file: str
) -> None:
    text = (DEPLOY / "nginx.example.conf").read_text()
    [rules] = re.findall(r"\$stands_in \{(.*?)\}", text, re.S)
    named = re.findall(r'"~(\*?)(\S+)"\s+(\S+);', rules)
    matching = [
        to for fold, rule, to in named if re.search(rule, f"{method}:{accepted}", re.I if fold else 0)
    ]

    assert (matching or ["/unavailable.html"])[0] == file
    [place] = [
        where for where in re.findall(r"location ~ (\S+) \{", text) if re.match(as_python(where), file)
    ]
    assert place


def as_python(rule: str) -> str:
    """A rule of nginx as Python writes named groups."""
    return rule.replace("(?<", "(?P<")


@pytest.mark.parametrize("secret", ["secret_key", "database_url", "owner_database_url", "ops_token"])
def test_a_secret_is_private_before_anything_stands_in_its_file(secret: str) -> None:
    first = next(
        line for line in (DEPLOY / "README.md").read_text().splitlines() if f"/etc/companion/{secret}" in line
    )
    assert re.match(rf"install -o companion -g companion -m 0600 /dev/null /etc/companion/{secret}\b", first)
