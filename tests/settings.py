"""The service's settings, with a cheap password hash: tests sign staff in hundreds of times."""

from ops.project.settings import *  # noqa: F403

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    # For tests of what a real hash costs.
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
