"""PURE. Open alerts in words, above the staff's pages: every alert for operators, a count for other staff."""

from collections.abc import Collection, Sequence
from typing import Any

from django.utils.dateformat import format as date_format
from django.utils.translation import gettext, ngettext

from ops.alerts.rows import AlertView

MAX_SHOWN = 50
"""Alerts that operators read at once, the newest. The title counts them all, up to those that are read."""


def format_banner(
    alerts: Sequence[AlertView], *, operator: bool, sites: Collection[int] = ()
) -> dict[str, Any]:
    """The banner: `title`, and the `open` alerts. The page and its frames show the same.

    Operators read each alert. Other staff read how many there are, and those about one of their `sites`.
    """
    return {
        "title": format_title(len(alerts), operator=operator)
        if operator
        else _format_for_staff(alerts, sites),
        "open": [_format_alert(alert) for alert in alerts[:MAX_SHOWN]] if operator else [],
    }


def format_title(count: int, *, operator: bool) -> str:
    """How many alerts are open; empty for none."""
    if not count:
        return ""
    if operator:
        if count > MAX_SHOWN:
            return gettext("{count} things need a person; the newest {shown} are shown").format(
                count=count, shown=MAX_SHOWN
            )
        return ngettext("{count} thing needs a person", "{count} things need a person", count).format(
            count=count
        )
    return ngettext(
        "There is {count} open problem for operators.",
        "There are {count} open problems for operators.",
        count,
    ).format(count=count)


def _format_for_staff(alerts: Sequence[AlertView], sites: Collection[int]) -> str:
    own = [alert for alert in alerts if alert.site in sites]
    rest = format_title(len(alerts) - len(own), operator=False)
    # One line each: the page keeps line breaks.
    return "\n".join([*(f"{alert.says} {alert.do}" for alert in own), *([rest] if rest else [])])


def _format_alert(alert: AlertView) -> dict[str, Any]:
    at = date_format(alert.last_at, "d M, H:i:s")
    times = ngettext("Once, {at} UTC", "{count} times, last {at} UTC", alert.count).format(
        count=alert.count, at=at
    )
    return {
        "id": alert.id,
        "says": alert.says,
        "do": alert.do,
        "runbook": alert.runbook,
        "times": times,
    }
