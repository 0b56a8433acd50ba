"""The template context of staff pages: the banner of open alerts."""

from typing import Any

from django.http import HttpRequest

from ops.access import get_access
from ops.alerts.formatting import format_banner
from ops.alerts.rows import list_open_alerts


def alerts(request: HttpRequest) -> dict[str, Any]:
    """Callables, so that pages without the banner query nothing."""
    return {
        "alert_banner": lambda: _build_banner(request),
        "is_operator": lambda: get_access(request.user).is_operator,
    }


def _build_banner(request: HttpRequest) -> dict[str, Any]:
    access = get_access(request.user)
    return format_banner(list_open_alerts(), operator=access.is_operator, sites=access.sites)
