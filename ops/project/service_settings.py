"""Every setting of the service: one statement each, with its default, its bounds and its meaning.

`ops.project.settings` takes all of them over, `manage.py` and the web processes read them as `settings.NAME`, and
`ops/reference/settings.md` is generated from here. Raises SettingInvalid.
"""

from pathlib import Path

import psycopg

from ops.catalogue_marks import gettext_noop as _
from ops.project import addresses, primary
from ops.project.addresses import SettingInvalid
from ops.project.env import Setting, read_environment

env = read_environment()

BASE_DIR = Path(__file__).resolve().parents[2]

# Databases and the queue.
DATABASE_URL = env.need(
    "DATABASE_URL",
    shown="the embedded server",
    meaning="PostgreSQL 15 or newer. A direct connection, or a pooler in session mode; behind one in transaction "
    "mode no process starts (`ops/deploy/README.md`). With a standby, both servers: "
    "`postgresql://user@one:5432,two:5432/name?target_session_attrs=read-write` "
    "(`ops/runbooks/the-database-moves.md`)",
)
DATABASE = addresses.parse_database("DATABASE_URL", DATABASE_URL)
DATABASE_FOLLOWS_PRIMARY = addresses.follows_primary(DATABASE_URL)
DATABASE_TIMEOUTS = addresses.SEVERAL_SERVERS if DATABASE_FOLLOWS_PRIMARY else addresses.VANISHED_SERVER
PRIMARY_FINDER = primary.PrimaryFinder(primary.NewestTimeline(env.state_dir / primary.FILE))
CONNECTION_CLASS, ASYNC_CONNECTION_CLASS = (
    primary.build_connection_classes(PRIMARY_FINDER)
    if DATABASE_FOLLOWS_PRIMARY
    else (psycopg.Connection, psycopg.AsyncConnection)
)
DIRECT_DATABASE_URL = env.other_address(
    "DIRECT_DATABASE_URL",
    DATABASE_URL,
    shown="as `DATABASE_URL`",
    meaning="where backup and restore drill connect",
)
OWNER_DATABASE_URL = env.other_address(
    "OWNER_DATABASE_URL",
    DATABASE_URL,
    shown="as `DATABASE_URL`",
    meaning="where `manage.py migrate` connects: as the role that owns the tables. `scripts/up` makes an "
    "owner and a role that can only use rows, and the service runs as the second",
)
DRILL_TARGET_URL = env.text(
    "DRILL_TARGET_URL",
    shown="a private server that the drill starts",
    meaning="where the restore drill puts its scratch copy",
)
VALKEY_URL = env.queue(
    "VALKEY_URL",
    "redis://127.0.0.1:6379/0",
    shown="the embedded server",
    meaning="Valkey, or Redis 7 or newer. It may be lost at any time",
)

# Keys, and the addresses of the service itself.
SECRET_KEY = env.need(
    "SECRET_KEY",
    shown="made once in the state folder",
    meaning="signs sessions and cards. With another key every card is another card",
)
BACKUP_KEY = (
    env.text(
        "BACKUP_KEY",
        shown="`SECRET_KEY`",
        meaning="signs backups. A drill refuses a backup that was signed with another key. Keep it apart "
        "from the backups",
    )
    or SECRET_KEY
)
BACKUP_RECIPIENTS = env.recipients(
    "BACKUP_RECIPIENTS",
    shown="none: backups are not encrypted",
    meaning="public keys of age (`age1…`), one a line or between commas: backups are encrypted for each of them. No "
    "secret, and enough to make backups",
)
BACKUP_IDENTITY_FILE = env.file(
    "BACKUP_IDENTITY",
    meaning="the file of the identity of age that opens encrypted backups. Only a restore drill reads it",
)
BACKUP_COPY_COMMAND = env.command(
    "BACKUP_COPY_COMMAND",
    placeholders=("{file}", "{name}"),
    meaning="a program and its arguments as JSON, run for each file of an encrypted backup to copy it elsewhere: "
    '`["rclone", "copyto", "{file}", "elsewhere:backups/{name}"]`. No shell reads it',
)
if BACKUP_COPY_COMMAND and not BACKUP_RECIPIENTS:
    raise SettingInvalid(
        "BACKUP_COPY_COMMAND is set, but backups are not encrypted. Set BACKUP_RECIPIENTS as well."
    )
ALLOWED_HOSTS = env.names(
    "ALLOWED_HOSTS",
    "127.0.0.1,localhost",
    meaning="names under which the service may be called, comma-separated. `scripts/up` always adds these "
    "two",
)
TRUSTED_ORIGINS = env.origins(
    "TRUSTED_ORIGINS",
    shown="the addresses of `scripts/up`",
    meaning="exact origins from which pages and sockets may come, such as `https://talk.example.org`. The "
    "first stands in printed cards; `scripts/up` always adds its own",
)
COMPANION_SECURE_COOKIES = env.flag(
    "COMPANION_SECURE_COOKIES",
    meaning="`yes` behind HTTPS: cookies travel over it alone, and what an `http:` page sends is refused, "
    "also where it has the name of this service",
)
COMPANION_COOKIE_SUFFIX = env.suffix(
    "COMPANION_COOKIE_SUFFIX",
    shown="the port of `scripts/up`, if it is not 8000; otherwise none",
    meaning="letters and digits after the names of its cookies. Two installations on one host name need two, because "
    "browsers keep cookies of all ports of a host together",
)


def name_cookie(name: str) -> str:
    """Return the full name of a cookie. Behind HTTPS no other host name can set one that starts with `__Host-`."""
    prefix = "__Host-" if COMPANION_SECURE_COOKIES else ""
    return f"{prefix}{name}{COMPANION_COOKIE_SUFFIX and '-'}{COMPANION_COOKIE_SUFFIX}"


COMPANION_BEHIND_PROXY = env.flag(
    "COMPANION_BEHIND_PROXY",
    meaning="`yes` takes a caller's address from `X-Real-IP`, and the reference of a request from `X-Request-ID`. Only "
    "behind a proxy that always sets both",
)

COMPANION_SECOND_FACTOR = env.flag(
    "COMPANION_SECOND_FACTOR",
    meaning="`yes` asks staff who sign in with a password for a code of an app as well. Those without an app set it up "
    "at their next sign-in. Without it each may choose it",
)
STAFF_OIDC_ISSUER = env.web_address(
    "STAFF_OIDC_ISSUER",
    meaning="the OpenID Connect provider by which staff sign in as well, exactly as it names itself. Its discovery "
    "document is read when the first of them does",
    for_secrets=True,
)
STAFF_OIDC_CLIENT_ID = env.text("STAFF_OIDC_CLIENT_ID", meaning="the name of this service at that provider")
STAFF_OIDC_CLIENT_SECRET = env.text("STAFF_OIDC_CLIENT_SECRET", meaning="its secret at that provider")
STAFF_OIDC_CLAIM = env.text(
    "STAFF_OIDC_CLAIM",
    "preferred_username",
    meaning="the claim that is the username here, at the first sign-in of each; later the provider's subject counts",
)
if STAFF_OIDC_ISSUER and not (STAFF_OIDC_CLIENT_ID and STAFF_OIDC_CLIENT_SECRET):
    raise SettingInvalid("STAFF_OIDC_ISSUER needs STAFF_OIDC_CLIENT_ID and STAFF_OIDC_CLIENT_SECRET.")

# Files.
env.declare(
    Setting(
        name="COMPANION_STATE_DIR",
        default="`var/`",
        meaning="data, logs, keys and reports of this machine",
    )
)
COMPANION_STATE_DIR = env.state_dir
COMPANION_PERSONA = Path(
    env.text("COMPANION_PERSONA", shown="`personas/files/robin.toml`", meaning="the persona file")
    or BASE_DIR / "personas" / "files" / "robin.toml"
)
COMPANION_ROUTING = env.text(
    "COMPANION_ROUTING",
    shown="the rehearsal provider",
    meaning="the file of lanes and presets: `ops/reference/providers.md`",
)
COMPANION_REHEARSED = env.flag(
    "COMPANION_REHEARSED",
    meaning="`yes` where scripted replies are meant, as for training: no alert says so, and the rehearsal "
    "provider of `scripts/up` obeys `[[…]]` inside messages",
)
REHEARSAL_URL = env.web_address(
    "REHEARSAL_URL",
    "http://127.0.0.1:8099/v1",
    shown="the one of `scripts/up`",
    meaning="where the rehearsal provider answers",
)

# Turns. TurnPolicy takes each of them over as the field of the same name.
COMPANION_CEILING = env.number(
    "COMPANION_CEILING",
    32,
    low=1,
    high=10_000,
    meaning=_("turns in flight at once, over all processes together, unless operators have set a ceiling"),
)
COMPANION_WAIT_CEILING_S = env.number(
    "COMPANION_WAIT_CEILING_S",
    45,
    low=1,
    high=600,
    meaning=_("seconds in the waiting room, then a person is asked to try again"),
)
COMPANION_HOLD_S = env.number(
    "COMPANION_HOLD_S",
    7_200,
    low=60,
    high=2_592_000,
    meaning=_("seconds that an unanswered question is held, to be answered first with the next message"),
)
COMPANION_KEEP_S = env.number(
    "COMPANION_KEEP_S",
    86_400,
    low=60,
    high=2_592_000,
    meaning=_(
        "seconds until which a question whose hold is over is offered back, to ask again or let go; "
        "then staff see it as expired"
    ),
)
COMPANION_GRACE_S = env.number(
    "COMPANION_GRACE_S",
    8,
    low=1,
    high=600,
    meaning=_("seconds that running replies have when a process is told to leave"),
)
COMPANION_STILL_HERE_S = env.number(
    "COMPANION_STILL_HERE_S",
    6,
    low=1,
    high=60,
    meaning=_("seconds without a word after which a drafted line says that he is still there"),
)
COMPANION_TURN_BUDGET_S = env.number(
    "COMPANION_TURN_BUDGET_S",
    60,
    low=5,
    high=600,
    meaning=_(
        "seconds until the first word of a reply, over all attempts; a reply that is being spoken is "
        "bounded by its lane's reply_ms"
    ),
)
COMPANION_ATTEMPTS = env.number(
    "COMPANION_ATTEMPTS", 4, low=1, high=10, meaning=_("calls to a provider for one turn, at most")
)
COMPANION_BREAKER_COOLDOWN_S = env.number(
    "COMPANION_BREAKER_COOLDOWN_S",
    15,
    low=1,
    high=300,
    meaning=_("seconds a failing lane is left alone at first; doubled each time a probe fails"),
)

# The second reading: a lane that reads messages after they were stored.
COMPANION_SECOND_READING_LANE = env.text(
    "COMPANION_SECOND_READING_LANE",
    shown="none: it is off",
    meaning="the lane that reads each message again after it was stored. It may only raise a flag, and nothing "
    "waits for it. Give it a lane that no chain names",
)
COMPANION_SECOND_READING_S = env.number(
    "COMPANION_SECOND_READING_S", 10, low=1, high=120, meaning=_("seconds for one call of it, at most")
)
COMPANION_SECOND_READING_CALLS = env.number(
    "COMPANION_SECOND_READING_CALLS",
    60,
    low=1,
    high=100_000,
    meaning=_("its calls in a minute, in each web process. Messages beyond them are not read again"),
)

# Visits.
COMPANION_VISIT_S = env.number(
    "COMPANION_VISIT_S", 28_800, low=300, high=86_400, meaning=_("seconds after which a visit ends by itself")
)
COMPANION_PAGES_PER_PERSON = env.number(
    "COMPANION_PAGES_PER_PERSON",
    20,
    low=1,
    high=1_000,
    former_name="COMPANION_PAGES_PER_VISIT",
    meaning=_("open chat pages of one person, over all visits, in each web process"),
)
COMPANION_PAGES_PER_ADDRESS = env.number(
    "COMPANION_PAGES_PER_ADDRESS",
    1_000,
    low=1,
    high=1_000_000,
    meaning=_(
        "open chat pages from one address, in each web process. A whole site may share one. Without a "
        "proxy, twice as many connections and 200 more are accepted from one address"
    ),
)
COMPANION_SIGN_IN_TRIES = env.number(
    "COMPANION_SIGN_IN_TRIES",
    30,
    low=1,
    high=10_000,
    meaning=_("wrong cards, codes and passwords from one address within ten minutes"),
)

# Watching, and alerts.
COMPANION_LOG = env.choice(
    "COMPANION_LOG",
    "line",
    ("line", "json", "journal"),
    meaning="how log lines are written: `line` for people, `json` one document each, `journal` as fields of the "
    "systemd journal. Events and fields: `ops/reference/log.md`",
)
COMPANION_FLAG_TARGET_S = env.number(
    "COMPANION_FLAG_TARGET_S",
    60,
    low=5,
    high=3_600,
    meaning=_(
        "seconds within which a flag should be accepted by a person: figures of flags are held against it"
    ),
)
OPS_TOKEN = env.text("OPS_TOKEN", meaning="the bearer token for `/ops/status.json` and `/metrics`")
ALERT_EMAIL = env.mailboxes(
    "ALERT_EMAIL",
    meaning="who gets alerts by e-mail, comma-separated, each in a letter of their own. Needs `EMAIL_URL`",
)
MAIL_SERVER = env.mail_server(
    "EMAIL_URL",
    meaning="the mail server: `smtp+tls://user:password@mail.example.org:587`, or `smtps://`, or `smtp://`",
)
if ALERT_EMAIL and MAIL_SERVER is None:
    raise SettingInvalid("ALERT_EMAIL is set, but nothing says by which server. Set EMAIL_URL as well.")
ALERT_FROM = env.mailboxes("ALERT_FROM", "companion@localhost", meaning="the sender of these e-mails")
ALERT_WEBHOOK_URL = env.web_address(
    "ALERT_WEBHOOK_URL",
    meaning="where each alert is posted as JSON; its `text` is what chat services show. It must answer with "
    "2xx within 5 seconds, and with no failure in its JSON",
)

env.refuse_unknown()
DECLARED_SETTINGS = tuple(env.declared.values())
"""For the reference page and the page of figures."""
