"""The template context of staff pages: the banner of open alerts."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from ops.access import get_access
from ops.alerts.formatting import format_banner
from ops.alerts.rows import list_open_alerts


def alerts(request: HttpRequest) -> dict[str, Any]:
    """`alert_banner` and `is_operator` in every template: read once, when one asks for them."""
    access = SimpleLazyObject(lambda: get_access(request.user))
    return {
        "alert_banner": SimpleLazyObject(
            lambda: format_banner(list_open_alerts(), operator=access.is_operator, sites=access.sites)
        ),
        "is_operator": SimpleLazyObject(lambda: access.is_operator),
    }
