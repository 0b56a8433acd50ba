"""Django's settings. The service's own are declared in `ops.project.service_settings`."""

import sys

from csp.constants import NONE, SELF

from ops.project import addresses
from ops.project.addresses import SettingInvalid

try:
    from ops.project.service_settings import *
except SettingInvalid as refusal:
    # Print a sentence, not a stack trace: the person who starts this at night must see the mend at once.
    sys.stderr.write(f"settings: {refusal}\n")
    raise SystemExit(78) from None

DEFAULT_FROM_EMAIL = ",".join(ALERT_FROM)
EMAIL_TIMEOUT = 10
if MAIL_SERVER is not None:
    EMAIL_HOST, EMAIL_PORT = MAIL_SERVER.host, MAIL_SERVER.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = MAIL_SERVER.user, MAIL_SERVER.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = MAIL_SERVER.starttls, MAIL_SERVER.tls

DEBUG = False
CSRF_TRUSTED_ORIGINS = TRUSTED_ORIGINS

# Without Daphne's own app: it would import the web server into every command and job.
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "companion",
    "ops",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "ops.project.headers.StrictHeaders",
    "ops.project.probes.AnswerProbes",
    "ops.static_files.serving.StaticFiles",
    "companion.sessions.SessionCookieMiddleware",
    "companion.page_language.PageLanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "ops.staff.error_pages.ErrorPagesMiddleware",
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
                "companion.needs.page_look.add_look",
                "companion.machines.context_processors.add_machine",
                "ops.alerts.context_processors.alerts",
                "ops.staff.bell.add_bell",
                "ops.project.page_version.add_version",
                "companion.page_language.add_language",
            ]
        },
    }
]

# Pages use Django's own pool; turns and sockets never use the ORM.
# A health check before each use: a restarted database costs no page an error.
DATABASES = {"default": DATABASE | {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True}}
DATABASES["default"]["OPTIONS"] = {
    **DATABASE_TIMEOUTS,
    **DATABASE.get("OPTIONS", {}),
    "pool": {
        "min_size": 1,
        "max_size": 8,
        "timeout": 10,
        "reconnect_timeout": addresses.RECONNECT_TIMEOUT_S,
        "connection_class": CONNECTION_CLASS,
    },
}
if OWNER_DATABASE_URL != DATABASE_URL:
    # `manage.py migrate` alone uses it.
    DATABASES["owner"] = addresses.parse_database("OWNER_DATABASE_URL", OWNER_DATABASE_URL)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

SESSION_ENGINE = "companion.sessions"
# One minute longer than a visit: the page of an expired visit may still save typed words.
SESSION_COOKIE_AGE = COMPANION_VISIT_S + 60
SESSION_COOKIE_NAME = name_cookie("companion")
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = COMPANION_SECURE_COOKIES
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
MACHINE_COOKIE_NAME = name_cookie("machine")
PAIRING_COOKIE_NAME = name_cookie("pairing")
BROWSER_COOKIE_NAME = name_cookie("browser")
LOOK_COOKIE_NAME = name_cookie("look")
CSRF_COOKIE_NAME = name_cookie("csrftoken")
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SECURE = COMPANION_SECURE_COOKIES
CSRF_FAILURE_VIEW = "ops.staff.error_pages.csrf_failure"
CSRF_COOKIE_SAMESITE = "Lax"
SILENCED_SYSTEM_CHECKS = [
    # The proxy redirects to HTTPS; web processes speak no TLS.
    "security.W008",
    # The other names of the domain, and the list in browsers, are for its owner to decide.
    "security.W005",
    "security.W021",
]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if COMPANION_SECURE_COOKIES else 0
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
# Those of participants' pages: each has a persona file, safety rules and a catalogue. The first is for the others.
LANGUAGES = [("en", "English"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = COMPANION_STATE_DIR / "static"
# A page names each file by its content, so that no browser mixes the files of two releases.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "ops.static_files.names.ReleaseFiles"},
}

# mozilla-django-oidc, where STAFF_OIDC_ISSUER is set. It creates no account.
OIDC_AUTHENTICATION_CALLBACK_URL = "staff_provider_callback"
OIDC_RP_SCOPES = "openid profile email"
OIDC_USE_PKCE = True
OIDC_CREATE_USER = False
OIDC_TIMEOUT = 10
OTP_TOTP_ISSUER = "Care companion"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# Ids, counts and codes only. Request paths are left out: a card's link is a credential.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "ops.project.logs.DiscreetFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        },
        "json": {"()": "ops.project.structured_logs.StructuredFormatter"},
    },
    "filters": {"repeated": {"()": "ops.project.logs.RepeatedOnce"}},
    "handlers": {
        "chosen": {"class": "ops.project.structured_logs.JournalHandler", "filters": ["repeated"]}
        if COMPANION_LOG == "journal"
        else {"class": "logging.StreamHandler", "formatter": COMPANION_LOG, "filters": ["repeated"]}
    },
    "root": {"handlers": ["chosen"], "level": "INFO"},
    "loggers": {
        # Below an error these say only that a page was not found, with its path.
        "django.request": {"level": "ERROR"},
        "django.security": {"level": "ERROR"},
        "daphne": {"level": "WARNING"},
        # It would log every job that succeeds, many times a minute.
        "celery": {"level": "WARNING"},
        "psycopg.pool": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
    },
}
