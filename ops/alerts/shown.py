"""Open alerts on every page for staff, until an operator has said that they have seen them."""

from typing import Any

from django.http import HttpRequest

from ops.alerts.rows import open_alerts
from ops.desk.access import is_operator


def alerts(request: HttpRequest) -> dict[str, Any]:
    """Context for templates. Asked only where a template shows it."""
    return {
        "open_alerts": open_alerts,
        "is_operator": lambda: is_operator(request.user),
    }
