"""Names the room to Django and registers its system checks."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "ops"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from ops import checks  # noqa: F401  (importing registers them; models must be ready first)
