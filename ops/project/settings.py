"""Django's settings. Every value from outside passes through `ops.project.env`."""

import sys
from pathlib import Path

from csp.constants import NONE, SELF

from ops.project import addresses, env
from ops.project.addresses import SettingInvalid

try:
    _environment = env.read()
    SECRET_KEY = _environment.need("SECRET_KEY")
    BACKUP_KEY = _environment.text("BACKUP_KEY") or SECRET_KEY
    DATABASE_URL = _environment.need("DATABASE_URL")
    _database = _environment.database()
    DIRECT_DATABASE_URL = _environment.other_address("DIRECT_DATABASE_URL", DATABASE_URL)
    OWNER_DATABASE_URL = _environment.other_address("OWNER_DATABASE_URL", DATABASE_URL)
    DRILL_TARGET_URL = _environment.text("DRILL_TARGET_URL")
    VALKEY_URL = _environment.queue("VALKEY_URL", "redis://127.0.0.1:6379/0")
    REHEARSAL_URL = _environment.web_address("REHEARSAL_URL", "http://127.0.0.1:8099/v1")
    ALLOWED_HOSTS = _environment.names("ALLOWED_HOSTS", "127.0.0.1,localhost")
    TRUSTED_ORIGINS = _environment.origins("TRUSTED_ORIGINS")
    OPS_TOKEN = _environment.text("OPS_TOKEN")
    _persona = _environment.text("COMPANION_PERSONA")
    COMPANION_ROUTING = _environment.text("COMPANION_ROUTING")
    COMPANION_CEILING = _environment.number("COMPANION_CEILING")
    COMPANION_WAIT_CEILING_S = _environment.number("COMPANION_WAIT_CEILING_S")
    COMPANION_HOLD_S = _environment.number("COMPANION_HOLD_S")
    COMPANION_KEEP_S = _environment.number("COMPANION_KEEP_S")
    COMPANION_STILL_HERE_S = _environment.number("COMPANION_STILL_HERE_S")
    COMPANION_TURN_BUDGET_S = _environment.number("COMPANION_TURN_BUDGET_S")
    COMPANION_ATTEMPTS = _environment.number("COMPANION_ATTEMPTS")
    COMPANION_BREAKER_COOLDOWN_S = _environment.number("COMPANION_BREAKER_COOLDOWN_S")
    COMPANION_VISIT_S = _environment.number("COMPANION_VISIT_S")
    COMPANION_PAGES_PER_PERSON = _environment.number("COMPANION_PAGES_PER_PERSON")
    COMPANION_PAGES_PER_ADDRESS = _environment.number("COMPANION_PAGES_PER_ADDRESS")
    COMPANION_SIGN_IN_TRIES = _environment.number("COMPANION_SIGN_IN_TRIES")
    COMPANION_BEHIND_PROXY = _environment.flag("COMPANION_BEHIND_PROXY")
    COMPANION_REHEARSED = _environment.flag("COMPANION_REHEARSED")
    _secure = _environment.flag("COMPANION_SECURE_COOKIES")
    ALERT_WEBHOOK_URL = _environment.web_address("ALERT_WEBHOOK_URL")
    ALERT_EMAIL = _environment.addresses("ALERT_EMAIL")
    DEFAULT_FROM_EMAIL = ",".join(_environment.addresses("ALERT_FROM", "companion@localhost"))
    _mail = _environment.mail_server("EMAIL_URL")
    if ALERT_EMAIL and _mail is None:
        raise SettingInvalid("ALERT_EMAIL is set, but nothing says by which server. Set EMAIL_URL as well.")
except SettingInvalid as refusal:
    # A sentence, not a stack trace: whoever starts this at night must see the mend at once.
    sys.stderr.write(f"settings: {refusal}\n")
    raise SystemExit(78) from None

BASE_DIR = Path(__file__).resolve().parents[2]
COMPANION_STATE_DIR = _environment.state_dir
COMPANION_PERSONA = Path(_persona or BASE_DIR / "personas" / "files" / "robin.toml")

EMAIL_TIMEOUT = 10
if _mail is not None:
    EMAIL_HOST, EMAIL_PORT = _mail.host, _mail.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail.user, _mail.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.starttls, _mail.tls

DEBUG = False
CSRF_TRUSTED_ORIGINS = TRUSTED_ORIGINS

INSTALLED_APPS = [
    "daphne",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "companion",
    "ops",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "ops.project.probes.AnswerProbes",
    "ops.static_files.serving.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "companion.sessions.SessionCookieMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "ops.project.urls"
ASGI_APPLICATION = "ops.project.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "ops.alerts.shown.alerts",
            ]
        },
    }
]

# Pages take their connections from Django's own pool; turns and sockets never use the ORM at all.
# Each is asked whether it still lives before it is used, so a database that restarted costs no page an error.
DATABASES = {"default": _database | {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True}}
DATABASES["default"]["OPTIONS"] = {
    **addresses.VANISHED_SERVER,
    **_database.get("OPTIONS", {}),
    "pool": {"min_size": 1, "max_size": 8, "timeout": 10},
}
if OWNER_DATABASE_URL != DATABASE_URL:
    # `manage.py migrate` alone uses it.
    DATABASES["owner"] = addresses.database("OWNER_DATABASE_URL", OWNER_DATABASE_URL)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

SESSION_ENGINE = "companion.sessions"
# A minute longer than a visit, in which the page of an expired one may still hand over what was typed last.
SESSION_COOKIE_AGE = COMPANION_VISIT_S + 60
SESSION_COOKIE_NAME = "companion"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = _secure
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
CSRF_COOKIE_SECURE = _secure
CSRF_FAILURE_VIEW = "ops.staff.error_pages.form_too_old"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
# Under "no-referrer" browsers send forms with "Origin: null", which the CSRF check must refuse.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
LOGIN_URL = "/staff/sign-in/"
LOGIN_REDIRECT_URL = "/ops/"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = COMPANION_STATE_DIR / "static"
# A page names each file by its content, so that no browser mixes the files of two releases.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "ops.static_files.names.ReleaseFiles"},
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Ids, counts and codes only. Request paths are left out: a card's link is a credential.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "ops.project.logs.DiscreetFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "filters": {"repeated": {"()": "ops.project.logs.RepeatedOnce"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["repeated"]}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        # Below an error these say only that a page was not found, with its path.
        "django.request": {"level": "ERROR"},
        "django.security": {"level": "ERROR"},
        "daphne": {"level": "WARNING"},
        # It would tell of every job that goes well, many times a minute and for ever.
        "celery": {"level": "WARNING"},
        "psycopg.pool": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
    },
}
