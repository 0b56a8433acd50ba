"""Open alerts on every page for staff, until an operator has said that they have seen them."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest

from ops.alerts.rows import Told, open_alerts
from ops.desk.access import is_operator


def alerts(request: HttpRequest) -> dict[str, Any]:
    """Context for templates. Asked only where a template shows it."""
    return {
        "alerts_shown": lambda: shown(open_alerts(), operator=is_operator(request.user)),
        "is_operator": lambda: is_operator(request.user),
    }


def shown(found: Sequence[Told], *, operator: bool) -> dict[str, Any]:
    """What stands above a page, for the page and for the frames that keep it right: each alert for operators alone."""
    return {
        "title": title(len(found), operator=operator),
        "open": [_entry(alert) for alert in found] if operator else [],
    }


def title(count: int, *, operator: bool) -> str:
    """How many there are; empty where there is none."""
    if not count:
        return ""
    if operator:
        return f"{count} {'thing needs' if count == 1 else 'things need'} a person"
    return f"There {'is 1 open problem' if count == 1 else f'are {count} open problems'} for operators."


def _entry(alert: Told) -> dict[str, Any]:
    times = f"{alert.count} times, last" if alert.count > 1 else "Once,"
    return {
        "id": alert.id,
        "says": alert.says,
        "do": alert.do,
        "runbook": alert.runbook,
        "times": f"{times} {alert.last_at:%d %b, %H:%M:%S} UTC",
    }
