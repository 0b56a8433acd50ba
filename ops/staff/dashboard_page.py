"""The page *Right now*, as it is served: right at that moment, and all there is where scripts do not run.

A sync view on purpose, like every page: it uses Django's own connection.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings as django_settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from ops.access import is_operator, sites_of, staff_only
from ops.alerts.rows import open_alerts
from ops.backups.reporting import records
from ops.minutes import last_hour
from ops.status import frame, held, hour
from ops.status.figures import Settings, status
from ops.status.frame import Seen


@require_safe
@staff_only
def home(request: HttpRequest, facts: Callable[[], Settings]) -> HttpResponse:
    """The figures of the moment, in plain words, with the last hour as a drawing and as a table."""
    settings, spent = facts(), last_hour()
    seen = Seen(
        figures=status(settings, spent),
        held=tuple(held.held(_rows(held.HELD, held.FACTS))),
        hour=tuple(hour.minutes(spent.minutes)),
        alerts=tuple(open_alerts()),
        at=datetime.now(UTC),
    )
    told = frame.now(seen, sites=sites_of(request.user), operator=is_operator(request.user), place=place())
    context = {
        "told": told,
        "texts": told["texts"],
        "hour_json": json.dumps(told["hour"]),
        "newest_first": told["hour"][::-1],
        "rules": settings.rules,
        "scripted": settings.routing.get("scripted", False),
        "weakness": settings.routing.get("normal_weakness", ""),
        "here": "home",
        **records.make_page_context(django_settings.COMPANION_STATE_DIR, seen.at),
    }
    return render(request, "ops/home.html", context)


def place() -> str:
    """Where the story of turn 0 would be."""
    return reverse("staff_turn", args=[0])


def _rows(query: str, facts: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, facts)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
