"""Open alerts on every page for staff, until an operator has said that they have seen them."""

from collections.abc import Collection, Sequence
from typing import Any

from django.http import HttpRequest

from ops.access import is_operator, sites_of
from ops.alerts.rows import Told, open_alerts


def alerts(request: HttpRequest) -> dict[str, Any]:
    """Context for templates. Asked only where a template shows it."""
    return {
        "alerts_shown": lambda: _shown_to(request),
        "is_operator": lambda: is_operator(request.user),
    }


def _shown_to(request: HttpRequest) -> dict[str, Any]:
    found, operator = open_alerts(), is_operator(request.user)
    names_a_site = any(alert.site is not None for alert in found)
    return shown(
        found, operator=operator, sites=sites_of(request.user) if names_a_site and not operator else ()
    )


def shown(found: Sequence[Told], *, operator: bool, sites: Collection[int] = ()) -> dict[str, Any]:
    """What stands above a page, for the page and for the frames that keep it right.

    Operators are shown each alert. Other staff are told how many there are, and what is about one of their `sites`.
    """
    return {
        "title": title(len(found), operator=operator) if operator else _to_staff(found, sites),
        "open": [_entry(alert) for alert in found] if operator else [],
    }


def _to_staff(found: Sequence[Told], sites: Collection[int]) -> str:
    theirs = [alert for alert in found if alert.site in sites]
    rest = title(len(found) - len(theirs), operator=False)
    # A line for each, which the page keeps.
    return "\n".join([*(f"{alert.says} {alert.do}" for alert in theirs), *([rest] if rest else [])])


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
